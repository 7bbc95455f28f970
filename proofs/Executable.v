(** What runs, as functions that can be extracted: the filter's step on the grid, the reach of a unit over groups, the winner of
    noisy numbers. They are compared with tacit's Python on random inputs. *)

From Coq Require Import Reals Qreals QArith Qround Lra Lia ZArith List Bool.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Filter NoisyMax.
Import ListNotations.

(** * The filter's step: src/tacit/accounting/filter.py *)

(** 10^24 lcm(1, ..., 32). *)
Definition grid : positive := (1000000000000000000000000 * 144403552893600)%positive.

(** A cost in steps of 1/grid, rounded up. *)
Definition steps_up (x : Q) : Z := Qceiling (x * inject_Z (Zpos grid)).
Definition steps_down (x : Q) : Z := Qfloor (x * inject_Z (Zpos grid)).

Record state := State { eps_steps : option Z; rho_steps : Z; delta_steps : Z }.
Record limits := Limits { eps_cap : Q; rho_cap : Q; delta_cap : Q }.

Definition spend (s : state) (eps : option Q) (rho delta : Q) : state :=
  State (match eps_steps s, eps with Some a, Some b => Some (a + steps_up b)%Z | _, _ => None end)
    (rho_steps s + steps_up rho) (delta_steps s + steps_up delta).

Definition fits (k : limits) (s : state) : bool :=
  (delta_steps s <=? steps_down (delta_cap k))%Z
  && (match eps_steps s with Some e => (e <=? steps_down (eps_cap k))%Z | None => false end || (rho_steps s <=? steps_down (rho_cap k))%Z).

(** One question: admitted with the new sums, or refused with the old ones. *)
Definition decide (k : limits) (s : state) (eps : option Q) (rho delta : Q) : bool * state :=
  let t := spend s eps rho delta in if fits k t then (true, t) else (false, s).

(** ** It is the rule of Filter.v *)

Open Scope R_scope.

Definition real (z : Z) : R := IZR z / IZR (Zpos grid).
Definition real_state (s : state) : sums := Sums (option_map real (eps_steps s)) (real (rho_steps s)) (real (delta_steps s)).
Definition real_cap (k : limits) (a : R) : cap := Cap (Q2R (eps_cap k)) (Q2R (rho_cap k)) (Q2R (delta_cap k)) a.

Lemma grid_pos : 0 < IZR (Zpos grid).
Proof. apply IZR_lt. reflexivity. Qed.

Lemma Q2R_scaled x : Q2R (x * inject_Z (Zpos grid)) = Q2R x * IZR (Zpos grid).
Proof. rewrite Q2R_mult. f_equal. unfold Q2R, inject_Z. simpl. field. Qed.

Lemma steps_down_spec z x : (z <=? steps_down x)%Z = true <-> real z <= Q2R x.
Proof.
  pose proof grid_pos as G. rewrite Z.leb_le. unfold steps_down, real.
  assert (E : (z <= Qfloor (x * inject_Z (Zpos grid)))%Z <-> (inject_Z z <= x * inject_Z (Zpos grid))%Q).
  { split; intro H.
    - apply Qle_trans with (inject_Z (Qfloor (x * inject_Z (Zpos grid)))); [rewrite <- Zle_Qle; exact H | apply Qfloor_le].
    - rewrite <- (Qfloor_Z z). apply Qfloor_resp_le. exact H. }
  rewrite E. split; intro H.
  - apply Qle_Rle in H. rewrite Q2R_scaled in H. replace (Q2R (inject_Z z)) with (IZR z) in H by (unfold Q2R, inject_Z; simpl; field).
    apply Rmult_le_reg_r with (1 := G). unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - apply Rle_Qle. rewrite Q2R_scaled. replace (Q2R (inject_Z z)) with (IZR z) by (unfold Q2R, inject_Z; simpl; field).
    apply (Rmult_le_compat_r (IZR (Zpos grid))) in H; [|lra]. unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l in H by lra. lra.
Qed.

Theorem fits_is_the_rule k s a : fits k s = true <-> holds (real_cap k a) (real_state s).
Proof.
  unfold fits, holds, within_eps, real_cap, real_state. simpl.
  rewrite andb_true_iff, orb_true_iff, !steps_down_spec.
  destruct (eps_steps s) as [e|]; simpl; [rewrite steps_down_spec|]; intuition discriminate.
Qed.

Lemma steps_up_above x : Q2R x <= real (steps_up x).
Proof.
  pose proof grid_pos as G. unfold steps_up, real. assert (H := Qle_ceiling (x * inject_Z (Zpos grid))).
  apply Qle_Rle in H. rewrite Q2R_scaled in H.
  set (c := Qceiling (x * inject_Z (Zpos grid))) in *. replace (Q2R (inject_Z c)) with (IZR c) in H by (unfold Q2R, inject_Z; simpl; field).
  apply Rmult_le_reg_r with (1 := G). unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** The sums after a spend are those of Filter.v for a cost that is at least the one that was asked for. *)
Theorem spend_is_after s eps rho delta :
  exists c, at_most (Sums (option_map Q2R eps) (Q2R rho) (Q2R delta)) c /\ real_state (spend s eps rho delta) = after (real_state s) c.
Proof.
  exists (Sums (option_map (fun x => real (steps_up x)) eps) (real (steps_up rho)) (real (steps_up delta))). split.
  - unfold at_most. simpl. destruct eps; simpl; repeat split; try apply steps_up_above.
  - unfold real_state, after, spend, plus_eps. simpl.
    assert (P : forall a b, real (a + b) = real a + real b) by (intros; unfold real; rewrite plus_IZR; field; pose proof grid_pos; lra).
    destruct (eps_steps s), eps; simpl; rewrite ?P; reflexivity.
Qed.

(** * The reach of a unit over groups: src/tacit/query/price/stability.py, `Reach` *)

Open Scope nat_scope.

Definition reach_l1 (rows groups per_group : nat) : nat := Nat.min rows (groups * per_group).

Definition reach_l2_squared (rows groups per_group : nat) : nat :=
  let most := reach_l1 rows groups per_group in
  let full := Nat.min groups (most / per_group) in
  full * (per_group * per_group) + (most - full * per_group) * (most - full * per_group).

Fixpoint total_of (l : list nat) : nat := match l with [] => 0 | x :: t => x + total_of t end.
Fixpoint squares_of (l : list nat) : nat := match l with [] => 0 | x :: t => x * x + squares_of t end.

Lemma total_at_most l c : List.Forall (fun x => x <= c) l -> total_of l <= length l * c.
Proof. induction 1; simpl; lia. Qed.

Theorem reach_l1_bounds rows groups per_group l :
  length l <= groups -> List.Forall (fun x => x <= per_group) l -> total_of l <= rows -> total_of l <= reach_l1 rows groups per_group.
Proof.
  intros L F T. unfold reach_l1. apply Nat.min_glb; [exact T|].
  apply Nat.le_trans with (1 := total_at_most l per_group F). apply Nat.mul_le_mono_r, L.
Qed.

Definition best (t c : nat) : nat := t / c * (c * c) + (t mod c) * (t mod c).

Lemma best_takes t c r : 0 < c -> r <= c -> r <= t -> r * r + best (t - r) c <= best t c.
Proof.
  intros Hc Hr Ht. unfold best.
  assert (E := Nat.div_mod t c ltac:(lia)). assert (B := Nat.mod_upper_bound t c ltac:(lia)).
  set (q := t / c) in *. set (s := t mod c) in *.
  destruct (le_lt_dec r s) as [h|h].
  - assert (D : (t - r) / c = q) by (symmetry; apply Nat.div_unique with (s - r); lia).
    assert (M : (t - r) mod c = s - r) by (symmetry; apply Nat.mod_unique with q; lia).
    rewrite D, M. nia.
  - destruct q as [|q]; [lia|].
    assert (D : (t - r) / c = q) by (symmetry; apply Nat.div_unique with (s + c - r); nia).
    assert (M : (t - r) mod c = s + c - r) by (symmetry; apply Nat.mod_unique with q; nia).
    rewrite D, M. assert (s + c - r < c) by lia. nia.
Qed.

Lemma squares_best l c t : 0 < c -> List.Forall (fun x => x <= c) l -> total_of l <= t -> squares_of l <= best t c.
Proof.
  intros Hc F. revert t. induction F as [|x l Hx F IH]; intros t T; simpl in *; [lia|].
  assert (I := IH (t - x) ltac:(lia)). assert (S := best_takes t c x Hc Hx ltac:(lia)). lia.
Qed.

(** Rows of one unit in at most [groups] groups, at most [per_group] in each and [rows] in total: the sum of squares. *)
Theorem reach_l2_bounds rows groups per_group l :
  0 < per_group -> length l <= groups -> List.Forall (fun x => x <= per_group) l -> total_of l <= rows ->
  squares_of l <= reach_l2_squared rows groups per_group.
Proof.
  intros Hc L F T. unfold reach_l2_squared. set (most := reach_l1 rows groups per_group).
  assert (M : total_of l <= most) by (apply reach_l1_bounds; assumption).
  assert (Hm : most <= groups * per_group) by (unfold most, reach_l1; apply Nat.le_min_r).
  assert (Hd : most / per_group <= groups) by (apply Nat.div_le_upper_bound; lia).
  rewrite Nat.min_r by exact Hd.
  assert (E := Nat.div_mod most per_group ltac:(lia)).
  replace (most - most / per_group * per_group) with (most mod per_group) by lia.
  apply squares_best; assumption.
Qed.

(** * The winner of noisy numbers: src/tacit/mechanisms/noisy_max.py *)

(** The least index that [wins] of NoisyMax.v. *)
Definition winner (l : list Z) : option nat := find (fun i => wins i l) (seq 0 (length l)).

Theorem winner_wins l i : winner l = Some i -> wins i l = true.
Proof. intro H. apply find_some in H. tauto. Qed.
