(** Programs that toss fair coins: a choice by exact thresholds and an event by an exact probability, with as many bits as they take:
    src/tacit/mechanisms/noise/discrete.md, table.py and enclosure.py. *)

From Coq Require Import Reals Lra Lia List ZArith Bool.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Laplace.
Import ListNotations.
Open Scope R_scope.

(** A program that has tossed as many coins as it may: it returned, or it is not finished. *)
Inductive coins (A : Type) : Type :=
| Return (a : A)
| Unfinished
| Toss (zero one : coins A).

Arguments Return {A} a.
Arguments Unfinished {A}.
Arguments Toss {A} zero one.

(** The chance to return an element of a set. *)
Fixpoint chance {A} (t : coins A) (S : A -> bool) : R :=
  match t with Return a => ind (S a) | Unfinished => 0 | Toss z o => (chance z S + chance o S) / 2 end.

Fixpoint bind {A B} (t : coins A) (f : A -> coins B) : coins B :=
  match t with Return a => f a | Unfinished => Unfinished | Toss z o => Toss (bind z f) (bind o f) end.

(** ** Chances are shares of bit strings *)

Fixpoint run {A} (t : coins A) (bits : list bool) : option A :=
  match t, bits with
  | Return a, _ => Some a
  | Toss z o, b :: rest => run (if b then o else z) rest
  | _, _ => None
  end.

Fixpoint depth {A} (t : coins A) : nat :=
  match t with Toss z o => S (Nat.max (depth z) (depth o)) | _ => 0%nat end.

Fixpoint all_bits (n : nat) : list (list bool) :=
  match n with O => [[]] | S m => map (cons false) (all_bits m) ++ map (cons true) (all_bits m) end.

Definition returns {A} (t : coins A) (S : A -> bool) (bits : list bool) : bool :=
  match run t bits with Some a => S a | None => false end.

Lemma all_bits_length n : INR (length (all_bits n)) = 2 ^ n.
Proof. induction n; simpl; [reflexivity|]. rewrite app_length, !map_length, plus_INR, IHn. ring. Qed.

Lemma filter_map_length {X Y} (f : X -> Y) (p : Y -> bool) l : length (filter p (map f l)) = length (filter (fun x => p (f x)) l).
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. destruct (p (f x)); simpl; rewrite IH; reflexivity. Qed.

Lemma filter_constant {X} (b : bool) (l : list X) : INR (length (filter (fun _ => b) l)) = ind b * INR (length l).
Proof. destruct b; simpl ind; induction l; simpl length; rewrite ?S_INR in *; simpl in *; lra. Qed.

(** Of all strings of [n] bits, those on which the program returns an element of [S]: their share is the chance. *)
Theorem chance_counts {A} (t : coins A) (S : A -> bool) n :
  (depth t <= n)%nat -> chance t S = INR (length (filter (returns t S) (all_bits n))) / 2 ^ n.
Proof.
  revert n. induction t as [a| |z IHz o IHo]; intros n H; simpl chance.
  - replace (filter (returns (Return a) S) (all_bits n)) with (filter (fun _ => S a) (all_bits n)).
    2: { apply filter_ext. intro bits. unfold returns. destruct bits; reflexivity. }
    rewrite filter_constant, all_bits_length. field. apply pow_nonzero. lra.
  - replace (filter (returns Unfinished S) (all_bits n)) with (filter (fun _ => false) (all_bits n)).
    2: { apply filter_ext. intro bits. unfold returns. destruct bits; reflexivity. }
    rewrite filter_constant. simpl. field. apply pow_nonzero. lra.
  - destruct n as [|n]; simpl in H; [lia|]. rewrite (IHz n), (IHo n) by lia.
    simpl all_bits. rewrite filter_app, app_length, !filter_map_length, plus_INR. simpl pow.
    change (filter (fun x => returns (Toss z o) S (false :: x)) (all_bits n)) with (filter (returns z S) (all_bits n)).
    change (filter (fun x => returns (Toss z o) S (true :: x)) (all_bits n)) with (filter (returns o S) (all_bits n)).
    field. apply pow_nonzero. lra.
Qed.

Lemma chance_unit {A} (t : coins A) S : 0 <= chance t S <= 1.
Proof. induction t; simpl; [apply ind_unit | lra | lra]. Qed.

Lemma chance_le {A} (t : coins A) S T : (forall a, ind (S a) <= ind (T a)) -> chance t S <= chance t T.
Proof. intro H. induction t; simpl; [apply H | lra | lra]. Qed.

(** * A uniform number of which bit after bit becomes known *)

(** How much of the cell [u, u + 1] / 2^n, in units of the cell, lies between [a] and [b]. *)
Definition share (a b : R) (n : nat) (u : Z) : R := Rmax 0 (Rmin (b * 2 ^ n) (IZR u + 1) - Rmax (a * 2 ^ n) (IZR u)).

Lemma share_halves x y A B u :
  x = 2 * A -> y = 2 * B ->
  Rmax 0 (Rmin B (u + 1) - Rmax A u)
    = (Rmax 0 (Rmin y (2 * u + 1) - Rmax x (2 * u)) + Rmax 0 (Rmin y (2 * u + 1 + 1) - Rmax x (2 * u + 1))) / 2.
Proof.
  intros -> ->.
  destruct (Rle_dec B A).
  { assert (Rmin B (u + 1) <= B /\ A <= Rmax A u) by (split; [apply Rmin_l | apply Rmax_l]).
    assert (Rmin (2 * B) (2 * u + 1) <= 2 * B /\ 2 * A <= Rmax (2 * A) (2 * u)) by (split; [apply Rmin_l | apply Rmax_l]).
    assert (Rmin (2 * B) (2 * u + 1 + 1) <= 2 * B /\ 2 * A <= Rmax (2 * A) (2 * u + 1)) by (split; [apply Rmin_l | apply Rmax_l]).
    rewrite !(Rmax_left 0) by lra. lra. }
  unfold Rmin, Rmax.
  destruct (Rle_dec B (u + 1)); destruct (Rle_dec A u); destruct (Rle_dec (2 * B) (2 * u + 1)); destruct (Rle_dec (2 * A) (2 * u));
    destruct (Rle_dec (2 * B) (2 * u + 1 + 1)); destruct (Rle_dec (2 * A) (2 * u + 1)); try lra;
    repeat match goal with |- context [Rle_dec ?p ?q] => destruct (Rle_dec p q) end; lra.
Qed.

Lemma share_splits a b n u : share a b n u = (share a b (S n) (2 * u) + share a b (S n) (2 * u + 1)) / 2.
Proof.
  unfold share. rewrite !plus_IZR, !mult_IZR. apply share_halves; simpl; ring.
Qed.

Lemma share_pos a b n u : 0 <= share a b n u.
Proof. apply Rmax_l. Qed.

Lemma share_le_1 a b n u : share a b n u <= 1.
Proof. apply Rmax_lub; [lra|]. pose proof (Rmin_r (b * 2 ^ n) (IZR u + 1)). pose proof (Rmax_r (a * 2 ^ n) (IZR u)). lra. Qed.

Lemma share_inside a b n u : a * 2 ^ n <= IZR u -> IZR u + 1 <= b * 2 ^ n -> share a b n u = 1.
Proof. intros H K. unfold share. rewrite Rmin_right, (Rmax_right (a * 2 ^ n)), Rmax_right by lra. lra. Qed.

Lemma share_outside a b n u : b * 2 ^ n <= IZR u \/ IZR u + 1 <= a * 2 ^ n -> share a b n u = 0.
Proof.
  intro H. apply Rmax_left. pose proof (Rmin_l (b * 2 ^ n) (IZR u + 1)). pose proof (Rmin_r (b * 2 ^ n) (IZR u + 1)).
  pose proof (Rmax_l (a * 2 ^ n) (IZR u)). pose proof (Rmax_r (a * 2 ^ n) (IZR u)). lra.
Qed.

Lemma share_root a b : 0 <= a <= b -> b <= 1 -> share a b 0 0 = b - a.
Proof. intros H K. unfold share. simpl. rewrite Rmin_left, (Rmax_left (a * 1)), Rmax_right by lra. lra. Qed.

Lemma share_root_le a b : a <= b -> share a b 0 0 <= b - a.
Proof.
  intro H. apply Rmax_lub; [lra|]. simpl. pose proof (Rmin_l (b * 1) (0 + 1)). pose proof (Rmax_l (a * 1) 0). lra.
Qed.

(** ** Deciding as soon as all numbers that are left have one outcome *)

Section Lazy.
Variable X : Type.
Variable same : X -> X -> bool.

(** At [n] known bits, [u] as an integer, either the outcome is sure, or more bits are drawn; nothing is decided between stages. *)
Variable verdict : nat -> Z -> option X.

Fixpoint decided (more n : nat) (u : Z) : coins X :=
  match verdict n u with
  | Some x => Return x
  | None =>
      match more with
      | O => Unfinished
      | S rest => Toss (decided rest (S n) (2 * u)) (decided rest (S n) (2 * u + 1))
      end
  end.

Lemma decided_more more n u S : chance (decided more n u) S <= chance (decided (Datatypes.S more) n u) S.
Proof.
  revert n u. induction more as [|more IH]; intros n u.
  - cbn [decided]. destruct (verdict n u); [simpl; lra|]. apply (proj1 (chance_unit (Toss _ _) S)).
  - change (decided (Datatypes.S more) n u) with
      (match verdict n u with Some x => Return x | None => Toss (decided more (Datatypes.S n) (2 * u)) (decided more (Datatypes.S n) (2 * u + 1)) end).
    change (decided (Datatypes.S (Datatypes.S more)) n u) with
      (match verdict n u with Some x => Return x
       | None => Toss (decided (Datatypes.S more) (Datatypes.S n) (2 * u)) (decided (Datatypes.S more) (Datatypes.S n) (2 * u + 1)) end).
    destruct (verdict n u); [lra|]. cbn [chance]. pose proof (IH (Datatypes.S n) (2 * u)%Z). pose proof (IH (Datatypes.S n) (2 * u + 1)%Z). lra.
Qed.

Definition cell (n : nat) (u : Z) : Prop := (0 <= u)%Z /\ IZR u + 1 <= 2 ^ n.

Lemma cell_halves n u : cell n u -> cell (S n) (2 * u) /\ cell (S n) (2 * u + 1).
Proof. intros [H K]. unfold cell. rewrite !plus_IZR, !mult_IZR. simpl pow. repeat split; try lia; lra. Qed.

(** Each outcome owns the numbers between two ends. *)
Variables left right : X -> R.
Hypothesis sure : forall n u x, cell n u -> verdict n u = Some x -> left x * 2 ^ n <= IZR u /\ IZR u + 1 <= right x * 2 ^ n.
Hypothesis apart : forall n u x y, cell n u -> verdict n u = Some x -> same y x = false -> right y * 2 ^ n <= IZR u \/ IZR u + 1 <= left y * 2 ^ n.
Hypothesis same_is : forall x y, same y x = true -> y = x.
Hypothesis same_refl : forall x, same x x = true.

Lemma decided_at_most x more n u : cell n u -> chance (decided more n u) (same x) <= share (left x) (right x) n u.
Proof.
  revert n u. induction more as [|more IH]; intros n u C; simpl; destruct (verdict n u) as [y|] eqn:V; simpl.
  - destruct (same x y) eqn:E; simpl; [|apply share_pos]. apply same_is in E. subst y.
    destruct (sure n u x C V). rewrite share_inside by assumption. lra.
  - apply share_pos.
  - destruct (same x y) eqn:E; simpl; [|apply share_pos]. apply same_is in E. subst y.
    destruct (sure n u x C V). rewrite share_inside by assumption. lra.
  - destruct (cell_halves n u C) as [C1 C2]. rewrite share_splits. pose proof (IH _ _ C1). pose proof (IH _ _ C2). simpl in *. lra.
Qed.

(** What is undecided at [N] bits lies near one of finitely many points. *)
Variable N : nat.
Variable points : list R.
Variable c : R.
Hypothesis c_pos : 0 <= c.
Hypothesis unsure : forall u, cell N u -> verdict N u = None ->
  exists t, In t points /\ t * 2 ^ N - c <= IZR u /\ IZR u + 1 <= t * 2 ^ N + c.

Fixpoint near (ts : list R) (n : nat) (u : Z) : R :=
  match ts with [] => 0 | t :: rest => share (t - c / 2 ^ N) (t + c / 2 ^ N) n u + near rest n u end.

Lemma near_pos ts n u : 0 <= near ts n u.
Proof. induction ts as [|t ts IH]; simpl; [lra|]. pose proof (share_pos (t - c / 2 ^ N) (t + c / 2 ^ N) n u). lra. Qed.

Lemma near_splits ts n u : near ts n u = (near ts (S n) (2 * u) + near ts (S n) (2 * u + 1)) / 2.
Proof.
  induction ts as [|t ts IH]; cbn [near]; [lra|].
  rewrite IH, (share_splits (t - c / 2 ^ N) (t + c / 2 ^ N)). lra.
Qed.

Lemma near_one ts t u : In t ts -> t * 2 ^ N - c <= IZR u -> IZR u + 1 <= t * 2 ^ N + c -> 1 <= near ts N u.
Proof.
  intros H L R. assert (P : 2 ^ N <> 0) by (apply pow_nonzero; lra).
  induction ts as [|s ts IH]; [contradiction|]. simpl. destruct H as [->|H].
  - rewrite share_inside; [pose proof (near_pos ts N u); lra | |]; unfold Rdiv.
    + rewrite Rmult_minus_distr_r, Rmult_assoc, Rinv_l by exact P. lra.
    + rewrite Rmult_plus_distr_r, Rmult_assoc, Rinv_l by exact P. lra.
  - specialize (IH H). pose proof (share_pos (s - c / 2 ^ N) (s + c / 2 ^ N) N u). lra.
Qed.

Lemma near_root ts : near ts 0 0 <= INR (length ts) * (2 * c / 2 ^ N).
Proof.
  assert (P : 0 < 2 ^ N) by (apply pow_lt; lra). assert (Q : 0 <= c / 2 ^ N) by (apply Rdiv_le_0_compat; lra).
  induction ts as [|t ts IH]; [simpl; lra|]. cbn [near length]. rewrite S_INR.
  pose proof (share_root_le (t - c / 2 ^ N) (t + c / 2 ^ N) ltac:(lra)).
  replace (2 * c / 2 ^ N) with (2 * (c / 2 ^ N)) in * by (field; lra). lra.
Qed.

Lemma decided_at_least x more n u :
  (n + more = N)%nat -> cell n u -> share (left x) (right x) n u <= chance (decided more n u) (same x) + near points n u.
Proof.
  revert n u. induction more as [|more IH]; intros n u E C; simpl; destruct (verdict n u) as [y|] eqn:V; simpl.
  1, 3: pose proof (near_pos points n u); destruct (same x y) eqn:F; simpl;
      [pose proof (share_le_1 (left x) (right x) n u); lra | rewrite share_outside by (apply (apart n u y x); assumption); lra].
  - assert (n = N) by lia. subst n. destruct (unsure u C V) as (t & I & L & R).
    pose proof (near_one points t u I L R). pose proof (share_le_1 (left x) (right x) N u). lra.
  - destruct (cell_halves n u C) as [C1 C2]. rewrite share_splits, near_splits.
    pose proof (IH (S n) (2 * u)%Z ltac:(lia) C1). pose proof (IH (S n) (2 * u + 1)%Z ltac:(lia) C2). cbn [Z.mul Pos.mul] in *. lra.
Qed.

Lemma decided_ends more n u : (n + more = N)%nat -> cell n u -> 1 <= chance (decided more n u) (fun _ => true) + near points n u.
Proof.
  revert n u. induction more as [|more IH]; intros n u E C; simpl; destruct (verdict n u) as [y|] eqn:V; simpl.
  1, 3: pose proof (near_pos points n u); lra.
  - assert (n = N) by lia. subst n. destruct (unsure u C V) as (t & I & L & R). pose proof (near_one points t u I L R). lra.
  - destruct (cell_halves n u C) as [C1 C2]. rewrite near_splits.
    pose proof (IH (S n) (2 * u)%Z ltac:(lia) C1). pose proof (IH (S n) (2 * u + 1)%Z ltac:(lia) C2). cbn [Z.mul Pos.mul] in *. lra.
Qed.

Lemma decided_between x : 0 <= left x <= right x -> right x <= 1 ->
  chance (decided N 0 0) (same x) <= right x - left x <= chance (decided N 0 0) (same x) + INR (length points) * (2 * c / 2 ^ N).
Proof.
  intros H K. assert (C : cell 0 0) by (unfold cell; simpl; split; [lia | lra]).
  pose proof (decided_at_most x N 0 0 C). pose proof (decided_at_least x N 0 0 eq_refl C). pose proof (near_root points).
  rewrite share_root in * by assumption. lra.
Qed.

Lemma decided_finishes : 1 - INR (length points) * (2 * c / 2 ^ N) <= chance (decided N 0 0) (fun _ => true).
Proof.
  assert (C : cell 0 0) by (unfold cell; simpl; split; [lia | lra]).
  pose proof (decided_ends N 0 0 eq_refl C). pose proof (near_root points). lra.
Qed.
End Lazy.

(** * Finite sums, and chances of programs one after the other *)

Fixpoint rsum (n : nat) (g : nat -> R) : R := match n with O => 0 | S m => rsum m g + g m end.

Lemma rsum_ext n g h : (forall i, (i < n)%nat -> g i = h i) -> rsum n g = rsum n h.
Proof. intro H. induction n; simpl; [reflexivity|]. rewrite (H n) by lia. rewrite IHn by (intros; apply H; lia). reflexivity. Qed.

Lemma rsum_plus n g h : rsum n (fun i => g i + h i) = rsum n g + rsum n h.
Proof. induction n; simpl; [ring | rewrite IHn; ring]. Qed.

Lemma rsum_scal n c g : rsum n (fun i => c * g i) = c * rsum n g.
Proof. induction n; simpl; [ring | rewrite IHn; ring]. Qed.

Lemma rsum_const n c : rsum n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; ring|]. cbn [rsum]. rewrite IHn, S_INR. ring. Qed.

Lemma rsum_le n g h : (forall i, (i < n)%nat -> g i <= h i) -> rsum n g <= rsum n h.
Proof. intro H. induction n; simpl; [lra|]. assert (rsum n g <= rsum n h) by (apply IHn; intros; apply H; lia). specialize (H n ltac:(lia)). lra. Qed.

Lemma rsum_app m n g : rsum (m + n) g = rsum m g + rsum n (fun i => g (m + i)%nat).
Proof. induction n; simpl; [rewrite Nat.add_0_r; ring|]. rewrite Nat.add_succ_r. simpl. rewrite IHn. ring. Qed.

Lemma rsum_first n g : rsum (S n) g = g 0%nat + rsum n (fun i => g (S i)).
Proof. induction n as [|n IH]; [simpl; ring|]. change (rsum (S (S n)) g) with (rsum (S n) g + g (S n)). rewrite IH. simpl. ring. Qed.

Lemma rsum_reverse n g : rsum n (fun i => g (n - 1 - i)%nat) = rsum n g.
Proof.
  induction n as [|n IH]; [reflexivity|]. rewrite rsum_first. cbn [rsum]. rewrite <- IH, Rplus_comm. f_equal; [apply rsum_ext; intros i H|]; f_equal; lia.
Qed.

Lemma rsum_blocks L w g : rsum L (fun B => rsum w (fun b => g (B * w + b)%nat)) = rsum (L * w) g.
Proof. induction L; simpl; [reflexivity|]. rewrite IHL, Nat.add_comm, rsum_app. reflexivity. Qed.

Lemma rsum_one n k g : (forall i, i <> k -> g i = 0) -> rsum n g = if (k <? n)%nat then g k else 0.
Proof.
  intro H. induction n; [reflexivity|]. cbn [rsum]. rewrite IHn.
  destruct (Nat.ltb_spec k n); destruct (Nat.ltb_spec k (S n)); try lia.
  - rewrite (H n) by lia. ring.
  - replace n with k by lia. ring.
  - rewrite (H n) by lia. ring.
Qed.

Lemma rsum_lim n (u : nat -> nat -> R) (v : nat -> R) :
  (forall i, (i < n)%nat -> is_lim_seq (u i) (v i)) -> is_lim_seq (fun N => rsum n (fun i => u i N)) (rsum n v).
Proof.
  intro H. induction n; simpl; [apply is_lim_seq_const|].
  apply is_lim_seq_plus'; [apply IHn; intros; apply H; lia | apply H; lia].
Qed.

Fixpoint all_below (J : nat) (t : coins nat) : Prop :=
  match t with Return a => (a < J)%nat | Unfinished => True | Toss z o => all_below J z /\ all_below J o end.

Lemma chance_bind_nat {B} J (t : coins nat) (f : nat -> coins B) S :
  all_below J t -> chance (bind t f) S = rsum J (fun o => chance t (Nat.eqb o) * chance (f o) S).
Proof.
  induction t as [a| |z IHz o IHo]; simpl; intro H.
  - rewrite (rsum_one J a).
    + rewrite Nat.eqb_refl. destruct (Nat.ltb_spec a J); [simpl; ring | lia].
    + intros i N. apply Nat.eqb_neq in N. rewrite N. simpl. ring.
  - rewrite (rsum_ext J _ (fun _ => 0)) by (intros; ring). rewrite rsum_const. ring.
  - rewrite IHz, IHo by tauto.
    rewrite <- (rsum_plus J). unfold Rdiv. rewrite Rmult_comm, <- rsum_scal. apply rsum_ext. intros. ring.
Qed.

Lemma chance_bind_bool {B} (t : coins bool) (f : bool -> coins B) S :
  chance (bind t f) S = chance t (Bool.eqb true) * chance (f true) S + chance t (Bool.eqb false) * chance (f false) S.
Proof. induction t as [[]| |z IHz o IHo]; simpl; try ring. rewrite IHz, IHo. field. Qed.

Lemma chance_map {A B} (t : coins A) (g : A -> B) S : chance (bind t (fun x => Return (g x))) S = chance t (fun x => S (g x)).
Proof. induction t as [a| |z IHz o IHo]; simpl; try reflexivity. rewrite IHz, IHo. reflexivity. Qed.

Lemma chance_sum {A} (t : coins A) S T U : (forall a, ind (S a) = ind (T a) + ind (U a)) -> chance t S = chance t T + chance t U.
Proof. intro H. induction t as [a| |z IHz o IHo]; simpl; [apply H | ring | rewrite IHz, IHo; field]. Qed.

Lemma chance_none {A} (t : coins A) S : (forall a, S a = false) -> chance t S = 0.
Proof. intro H. induction t as [a| |z IHz o IHo]; simpl; [rewrite H; reflexivity | reflexivity | rewrite IHz, IHo; field]. Qed.

(** Uniform bits in a row, as an integer. *)
Fixpoint word (size acc : nat) : coins nat :=
  match size with O => Return acc | S k => Toss (word k (2 * acc)) (word k (2 * acc + 1)) end.

Lemma chance_word {B} size acc (f : nat -> coins B) S :
  chance (bind (word size acc) f) S = rsum (2 ^ size) (fun b => chance (f (acc * 2 ^ size + b)%nat) S) / INR (2 ^ size).
Proof.
  revert acc. induction size as [|k IH]; intro acc.
  - simpl. rewrite Rplus_0_l. replace (acc * 1 + 0)%nat with acc by lia. field.
  - cbn [word bind chance]. rewrite !IH.
    assert (P : 0 < INR (2 ^ k)) by (apply lt_0_INR; pose proof (Nat.pow_nonzero 2 k); lia).
    replace (2 ^ Datatypes.S k)%nat with (2 ^ k + 2 ^ k)%nat by (simpl; lia). rewrite rsum_app, plus_INR.
    rewrite (rsum_ext (2 ^ k) (fun b => chance (f (2 * acc * 2 ^ k + b)%nat) S) (fun b => chance (f (acc * (2 ^ k + 2 ^ k) + b)%nat) S))
      by (intros; do 2 f_equal; lia).
    rewrite (rsum_ext (2 ^ k) (fun b => chance (f ((2 * acc + 1) * 2 ^ k + b)%nat) S)
      (fun i => chance (f (acc * (2 ^ k + 2 ^ k) + (2 ^ k + i))%nat) S)) by (intros; do 2 f_equal; lia).
    field. split; lra.
Qed.

Lemma some_of_all (t : coins Z) M : rsum M (fun i => chance t (Z.eqb (integer i))) <= chance t (fun _ => true).
Proof.
  induction t as [a| |z IHz o IHo]; simpl.
  - destruct (integer_onto a) as [k E]. rewrite (rsum_one M k).
    + destruct (k <? M)%nat; [apply ind_unit | lra].
    + intros i N. destruct (Z.eqb_spec (integer i) a); [|reflexivity]. exfalso. apply N, integer_once. congruence.
  - rewrite rsum_const. lra.
  - unfold Rdiv. rewrite (rsum_ext M _ (fun i => / 2 * (chance z (Z.eqb (integer i)) + chance o (Z.eqb (integer i))))) by (intros; ring).
    rewrite rsum_scal, rsum_plus. lra.
Qed.

Lemma sum_n_rsum (f : nat -> R) n : sum_n f n = rsum (S n) f.
Proof. induction n; [rewrite sum_O; simpl; ring|]. rewrite sum_Sn, IHn. reflexivity. Qed.
