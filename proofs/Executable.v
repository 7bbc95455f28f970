(** What runs, as functions that can be extracted: the filter's step on the grid, what a unit moves over groups, keys by threshold, where drawn
    integers lie, the winner of noisy numbers. With the decisions of Sampler.v they are compared with tacit's Python on random inputs. *)

From Coq Require Import Reals Qreals QArith Qround Lra Lia ZArith List Bool.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Filter Laplace NoisyMax Threshold Rounds.
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

(** ** What a unit moves over all groups: `row_range` and `l1_sensitivity` *)

Open Scope Z_scope.

(** What one row adds, for values from [low] to [high]: to the number of rows, to a sum, to a sum from the middle, to a sum of squares. *)
Inductive moment := Rows | Sum | Centred | Squares.

Definition row_range (kind : moment) (low high : Z) : Z * Z :=
  match kind with
  | Rows => (0, 1)
  | Sum => (Z.min low 0, Z.max high 0)
  | Centred => (- (high - low), high - low)
  | Squares => (- (high - low) ^ 2, (high - low) ^ 2)
  end.

(** A row that counts adds a number of that range, and one that does not adds 0, which is in it. *)
Definition row_adds (kind : moment) (low high x : Z) : Z :=
  match kind with
  | Rows => 1
  | Sum => x
  | Centred => 2 * x - (low + high)
  | Squares => 2 * (2 * x - (low + high)) ^ 2 - (high - low) ^ 2
  end.

Theorem row_range_bounds kind low high x : low <= x <= high ->
  fst (row_range kind low high) <= row_adds kind low high x <= snd (row_range kind low high)
  /\ fst (row_range kind low high) <= 0 <= snd (row_range kind low high).
Proof.
  intro H. destruct kind; cbn [row_range row_adds fst snd]; try lia.
  assert (B : 0 <= (2 * x - (low + high)) ^ 2 <= (high - low) ^ 2).
  { rewrite !Z.pow_2_r. split; [apply Z.square_nonneg | nia]. }
  lia.
Qed.

(** [changes]: a unit may change its rows instead of coming or going; [several]: over more than one group. *)
Definition moves (low high : Z) (changes several : bool) : Z :=
  if changes then if several then 2 * Z.max (- low) high else high - low else Z.max (- low) high.

Definition l1_sensitivity (kind : moment) (low high : Z) (rows groups per_group : nat) (changes several : bool) : Z :=
  let (least, most) := row_range kind low high in
  Z.of_nat (reach_l1 rows groups per_group) * moves least most changes several.

(** The cells of one unit: in each group that it has, how many rows, and what they add. *)
Definition cells_within (least most : Z) (rows groups per_group : nat) (cells : list (nat * Z)) : Prop :=
  (length cells <= groups)%nat /\ List.Forall (fun c => (fst c <= per_group)%nat) cells /\ (total_of (map fst cells) <= rows)%nat
  /\ List.Forall (fun c => Z.of_nat (fst c) * least <= snd c <= Z.of_nat (fst c) * most) cells.

Definition added (cells : list (nat * Z)) : Z := fold_right (fun c s => snd c + s) 0 cells.
Definition moved (cells : list (nat * Z)) : Z := fold_right (fun c s => Z.abs (snd c) + s) 0 cells.

Lemma moved_rows least most cells : least <= 0 <= most -> List.Forall (fun c => Z.of_nat (fst c) * least <= snd c <= Z.of_nat (fst c) * most) cells ->
  moved cells <= Z.of_nat (total_of (map fst cells)) * Z.max (- least) most
  /\ Z.of_nat (total_of (map fst cells)) * least <= added cells <= Z.of_nat (total_of (map fst cells)) * most.
Proof.
  intros Hz. induction 1 as [|[n z] cells H F IH]; cbn [moved added map fst snd total_of fold_right] in *; [lia|].
  fold (moved cells) (added cells) in *. set (m := Z.max (- least) most) in *.
  assert (Z.abs z <= Z.of_nat n * m) by (unfold m; nia). split; [|lia]. lia.
Qed.

(** Coming or going moves the numbers of all groups together by at most [l1_sensitivity]; changing by what goes and what comes; *)
Theorem l1_bounds kind low high rows groups per_group before after :
  let least := fst (row_range kind low high) in let most := snd (row_range kind low high) in
  low <= high -> cells_within least most rows groups per_group before -> cells_within least most rows groups per_group after ->
  moved before <= l1_sensitivity kind low high rows groups per_group false true
  /\ moved before + moved after <= l1_sensitivity kind low high rows groups per_group true true
  /\ Z.abs (added before - added after) <= l1_sensitivity kind low high rows groups per_group true false.
Proof.
  intros least most Hl (B1 & B2 & B3 & B4) (A1 & A2 & A3 & A4).
  assert (Hz : least <= 0 <= most) by (destruct (row_range_bounds kind low high low ltac:(lia)); assumption).
  destruct (moved_rows least most before Hz B4) as [MB SB]. destruct (moved_rows least most after Hz A4) as [MA SA].
  assert (F : forall cells, List.Forall (fun c : nat * Z => (fst c <= per_group)%nat) cells -> List.Forall (fun x => (x <= per_group)%nat) (map fst cells))
    by (intros; apply Forall_map; assumption).
  assert (RB := reach_l1_bounds rows groups per_group (map fst before) ltac:(rewrite map_length; exact B1) (F _ B2) B3).
  assert (RA := reach_l1_bounds rows groups per_group (map fst after) ltac:(rewrite map_length; exact A1) (F _ A2) A3).
  unfold l1_sensitivity. destruct (row_range kind low high) as [l m] eqn:E. cbn [fst snd] in least, most. subst least most. cbn [moves].
  set (top := Z.max (- l) m) in *. set (k := reach_l1 rows groups per_group) in *. apply inj_le in RB, RA.
  assert (0 <= top) by lia. repeat split; nia.
Qed.

Open Scope nat_scope.

(** * Private keys: src/tacit/mechanisms/selection.py *)

(** The noisy count of a group with [n] units, if it shows. *)
Definition key_shows (tau n noise : Z) : option Z := if ((0 <? n) && (tau <=? n + noise))%Z then Some (n + noise)%Z else None.

(** It shows what [seen] of Threshold.v says. *)
Theorem key_shows_is_seen tau r n m : (0 < n)%Z ->
  seen tau r n m = match key_shows tau n (integer m - n) with Some _ => laplace r (integer m - n) | None => 0%R end.
Proof.
  intro H. unfold seen, key_shows, noisy. replace (n + (integer m - n))%Z with (integer m) by lia.
  destruct (Z.ltb_spec 0 n); [|lia]. destruct (tau <=? integer m)%Z; reflexivity.
Qed.

(** * Noise: src/tacit/mechanisms/noise/sampler.py *)

(** The integer in a block or wedge, from its uniform low bits; or beyond the blocks, from a drawn integer. *)
Definition placed (shift blocks : nat) (p : part) (bits drawn : Z) : Z :=
  let at_side (s : bool) (y : Z) := if s then (-1 - y)%Z else y in
  let width := (2 ^ Z.of_nat shift)%Z in
  match p with
  | Block s B | Wedge s B => at_side s (Z.of_nat B * width + if s then width - 1 - bits else bits)%Z
  | Tail s => at_side s (Z.of_nat blocks * width + (if drawn <? 0 then -1 - drawn else drawn))%Z
  end.

(** These are the integers of Rounds.v. *)
Theorem placed_is_at shift blocks p bits drawn : (bits < 2 ^ shift)%nat ->
  placed shift blocks p (Z.of_nat bits) drawn =
    match p with
    | Block s B | Wedge s B => at_ s (B * 2 ^ shift + inside shift s bits)
    | Tail s => at_ s (blocks * 2 ^ shift + steps drawn)
    end.
Proof.
  assert (P : Z.of_nat (2 ^ shift) = (2 ^ Z.of_nat shift)%Z) by (rewrite Nat2Z.inj_pow; reflexivity).
  intro H. unfold placed. destruct p as [s B|s B|s]; unfold at_, inside; rewrite <- P; destruct s; try lia; unfold steps; destruct (Z.ltb_spec drawn 0); lia.
Qed.

(** * The winner of noisy numbers: src/tacit/mechanisms/noisy_max.py *)

(** The least index that [wins] of NoisyMax.v. *)
Definition winner (l : list Z) : option nat := find (fun i => wins i l) (seq 0 (length l)).

Theorem winner_wins l i : winner l = Some i -> wins i l = true.
Proof. intro H. apply find_some in H. tauto. Qed.
