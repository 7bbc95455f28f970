(** The functions of Executable.v and the decisions of Sampler.v as OCaml. *)

From Coq Require Import Extraction ExtrOcamlBasic ZArith.
From tacit Require Import Sampler Rounds Executable.

Extraction "model.ml" decide reach_l1 reach_l2_squared l1_sensitivity winner key_shows chosen_at happens_at parts placed
  Z.add Z.mul Z.pow Z.div Z.modulo.
