(** The functions of Executable.v as OCaml. *)

From Coq Require Import Extraction ExtrOcamlBasic.
From tacit Require Import Executable.

Extraction "model.ml" decide reach_l1 reach_l2_squared winner.
