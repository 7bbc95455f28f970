(** Discrete Laplace noise on a grid: src/tacit/mechanisms/laplace.md and mechanisms/noise/discrete.md. *)

From Coq Require Import Reals Lra Lia ZArith List Arith.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Composition.
Import ListNotations.
Open Scope R_scope.

(** * Integers as outcomes *)

(** 0, -1, 1, -2, 2, ...: every integer is one outcome. *)
Definition integer (n : nat) : Z := if Nat.even n then Z.of_nat (Nat.div2 n) else (- Z.of_nat (Nat.div2 n) - 1)%Z.

Lemma integer_even n : integer (2 * n) = Z.of_nat n.
Proof. unfold integer. rewrite Nat.even_mul. simpl Nat.even. cbn [orb]. rewrite Nat.div2_double. reflexivity. Qed.

Lemma integer_odd n : integer (2 * n + 1) = (- Z.of_nat n - 1)%Z.
Proof.
  unfold integer. replace (2 * n + 1)%nat with (S (2 * n)) by lia.
  rewrite Nat.even_succ, Nat.odd_mul, Nat.div2_succ_double. reflexivity.
Qed.

Theorem integer_onto z : exists n, integer n = z.
Proof.
  destruct (Z_le_dec 0 z).
  - exists (2 * Z.to_nat z)%nat. rewrite integer_even. lia.
  - exists (2 * Z.to_nat (- z - 1) + 1)%nat. rewrite integer_odd. lia.
Qed.

Theorem integer_once m n : integer m = integer n -> m = n.
Proof.
  intro H. destruct (Nat.Even_or_Odd m) as [[a Ha]|[a Ha]]; destruct (Nat.Even_or_Odd n) as [[b Hb]|[b Hb]]; subst;
    rewrite ?integer_even, ?integer_odd in H; lia.
Qed.

(** The sum of a function over all integers is [l]. *)
Definition sums_to (f : Z -> R) (l : R) : Prop :=
  exists (up down : R), is_series (fun n => f (Z.of_nat n)) up /\ is_series (fun n => f (- Z.of_nat n - 1)%Z) down /\ l = up + down.

Lemma sums_to_series f l : sums_to f l -> is_series (fun n => f (integer n)) l.
Proof.
  intros (up & down & Hu & Hd & E).
  assert (H := is_pseries_odd_even (fun n => f (integer n)) 1 up down).
  rewrite !is_pseries_R in H.
  assert (P : forall g m, is_series g m -> is_series (fun n => g n * (1 ^ 2) ^ n) m).
  { intros g m. apply is_series_ext. intro n. rewrite !pow1. symmetry. apply Rmult_1_r. }
  apply is_series_ext with (fun n => f (integer n) * 1 ^ n).
  - intro n. rewrite pow1. apply Rmult_1_r.
  - replace l with (up + 1 * down) by (rewrite E; value). apply H.
    + apply P. apply (is_series_ext (fun n => f (Z.of_nat n))); [intro n; rewrite integer_even; reflexivity | exact Hu].
    + apply P. apply (is_series_ext (fun n => f (- Z.of_nat n - 1)%Z)); [intro n; rewrite integer_odd; reflexivity | exact Hd].
Qed.

Lemma shift_up f l : sums_to f l -> sums_to (fun z => f (z - 1)%Z) l.
Proof.
  intros (up & down & Hu & Hd & E). exists (up + f (-1)%Z), (down - f (-1)%Z). repeat split; [| | rewrite E; value].
  - apply (is_series_decr_1 (K := R_AbsRing) (V := R_NormedModule)).
    apply series_value with (l := up); [value|].
    apply is_series_ext with (2 := Hu). intro n. f_equal. lia.
  - assert (T : is_series (fun n => f (- Z.of_nat (S n) - 1)%Z) (down - f (-1)%Z)).
    { apply (is_series_incr_1 (K := R_AbsRing) (V := R_NormedModule) (fun n => f (- Z.of_nat n - 1)%Z)).
      apply series_value with (l := down); [value|]. exact Hd. }
    apply is_series_ext with (2 := T). intro n. f_equal. lia.
Qed.

Lemma shift_down f l : sums_to f l -> sums_to (fun z => f (z + 1)%Z) l.
Proof.
  intros (up & down & Hu & Hd & E). exists (up - f 0%Z), (down + f 0%Z). repeat split; [| | rewrite E; value].
  - assert (T : is_series (fun n => f (Z.of_nat (S n))) (up - f 0%Z)).
    { apply (is_series_incr_1 (K := R_AbsRing) (V := R_NormedModule) (fun n => f (Z.of_nat n))).
      apply series_value with (l := up); [value|]. exact Hu. }
    apply is_series_ext with (2 := T). intro n. f_equal. lia.
  - apply (is_series_decr_1 (K := R_AbsRing) (V := R_NormedModule)).
    apply series_value with (l := down); [value|].
    apply is_series_ext with (2 := Hd). intro n. f_equal. lia.
Qed.

Lemma sums_to_ext f g l : (forall z, f z = g z) -> sums_to f l -> sums_to g l.
Proof.
  intros H (up & down & Hu & Hd & E). exists up, down. repeat split; [| | assumption].
  - apply is_series_ext with (2 := Hu). intro; apply H.
  - apply is_series_ext with (2 := Hd). intro; apply H.
Qed.

Lemma shift f l v : sums_to f l -> sums_to (fun z => f (z - v)%Z) l.
Proof.
  intro H. destruct (Z_le_dec 0 v) as [h|h].
  - pattern v. apply natlike_ind; [| | exact h].
    + apply sums_to_ext with (2 := H). intro z. f_equal. lia.
    + intros w _ I. apply sums_to_ext with (2 := shift_up _ _ I). intro z. f_equal. lia.
  - replace v with (- (- v))%Z by lia. pattern (- v)%Z. apply natlike_ind; [| | lia].
    + apply sums_to_ext with (2 := H). intro z. f_equal. lia.
    + intros w _ I. apply sums_to_ext with (2 := shift_down _ _ I). intro z. f_equal. lia.
Qed.

(** * The law *)

(** [ratio] is e^(-1/scale). *)
Definition laplace (ratio : R) (z : Z) : R := (1 - ratio) / (1 + ratio) * ratio ^ Z.abs_nat z.

Lemma geometric r : 0 <= r < 1 -> is_series (fun n => r ^ n) (/ (1 - r)).
Proof. intro H. apply is_series_geom. rewrite Rabs_right; lra. Qed.

Lemma geometric_from r c k : 0 <= r < 1 -> is_series (fun n => c * r ^ (n + k)) (c * r ^ k / (1 - r)).
Proof.
  intro H. apply (is_series_ext (fun n => c * r ^ k * r ^ n)).
  - intro n. rewrite pow_add. value.
  - unfold Rdiv. apply (is_series_scal (K := R_AbsRing) (V := R_NormedModule) (c * r ^ k) (fun n => r ^ n)). apply geometric, H.
Qed.

(** The masses sum to 1. *)
Theorem laplace_total r : 0 <= r < 1 -> sums_to (laplace r) 1.
Proof.
  intro H. set (c := (1 - r) / (1 + r)).
  exists (c * r ^ 0 / (1 - r)), (c * r ^ 1 / (1 - r)). repeat split.
  - apply is_series_ext with (2 := geometric_from r c 0 H). intro n. unfold laplace. fold c. rewrite Zabs2Nat.id, Nat.add_0_r. reflexivity.
  - apply is_series_ext with (2 := geometric_from r c 1 H). intro n. unfold laplace. fold c. do 2 f_equal. lia.
  - unfold c. field. lra.
Qed.

Lemma laplace_pos r z : 0 <= r < 1 -> 0 <= laplace r z.
Proof. intro H. apply Rmult_le_pos; [apply Rdiv_le_0_compat; lra | apply pow_le; lra]. Qed.

(** A number [v] in grid units with its noise. *)
Definition noisy (r : R) (v : Z) (n : nat) : R := laplace r (integer n - v).

Theorem noisy_law r v : 0 <= r < 1 -> law (noisy r v).
Proof.
  intro H. split; [intro n; apply laplace_pos, H|].
  apply sums_to_series with (f := fun z => laplace r (z - v)). apply shift, laplace_total, H.
Qed.

Lemma pow_between r m n : 0 < r <= 1 -> r ^ m <= r ^ n * (/ r) ^ Z.abs_nat (Z.of_nat n - Z.of_nat m).
Proof.
  intro H. assert (Hp : forall k, 0 < r ^ k) by (intro; apply pow_lt; lra).
  destruct (le_lt_dec m n) as [h|h].
  - replace (Z.abs_nat (Z.of_nat n - Z.of_nat m)) with (n - m)%nat by lia.
    replace n with (m + (n - m))%nat at 1 by lia. rewrite pow_add, pow_inv.
    right. field. apply pow_nonzero; lra.
  - replace (Z.abs_nat (Z.of_nat n - Z.of_nat m)) with (m - n)%nat by lia.
    replace m with (n + (m - n))%nat at 1 by lia. rewrite pow_add.
    apply Rmult_le_compat_l; [left; apply Hp|].
    apply Rle_trans with 1; [rewrite <- (pow1 (m - n)); apply pow_incr; lra|].
    rewrite <- (pow1 (m - n)) at 1. apply pow_incr. split; [lra|].
    rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
Qed.

Lemma inverse_powers x m n : 1 <= x -> (m <= n)%nat -> x ^ m <= x ^ n.
Proof. intros H L. apply Rle_pow; assumption. Qed.

(** Numbers that are [units] steps apart, with noise of ratio e^(-epsilon/units): pure epsilon, outcome by outcome. *)
Theorem laplace_private scale v w :
  0 < scale -> close (IZR (Z.abs (v - w)) / scale) 0 (noisy (exp (- / scale)) v) (noisy (exp (- / scale)) w).
Proof.
  intro Hs. set (r := exp (- / scale)).
  assert (Hr : 0 < r < 1).
  { split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. apply Ropp_lt_gt_0_contravar, Rinv_0_lt_compat, Hs. }
  apply pointwise_close; try (apply noisy_law; lra).
  intro n. unfold noisy, laplace. set (z := integer n).
  assert (B := pow_between r (Z.abs_nat (z - v)) (Z.abs_nat (z - w)) ltac:(lra)).
  assert (L : (Z.abs_nat (Z.of_nat (Z.abs_nat (z - w)) - Z.of_nat (Z.abs_nat (z - v))) <= Z.abs_nat (v - w))%nat) by lia.
  assert (I : 1 <= / r) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (M := inverse_powers (/ r) _ _ I L).
  assert (E : (/ r) ^ Z.abs_nat (v - w) = exp (IZR (Z.abs (v - w)) / scale)).
  { unfold r. rewrite <- exp_Ropp, Ropp_involutive, <- Rpower_pow by apply exp_pos.
    unfold Rpower. rewrite ln_exp. f_equal. rewrite INR_IZR_INZ. replace (Z.of_nat (Z.abs_nat (v - w))) with (Z.abs (v - w)) by lia.
    unfold Rdiv. ring. }
  rewrite <- E.
  assert (0 <= (1 - r) / (1 + r)) by (apply Rdiv_le_0_compat; lra).
  assert (0 <= r ^ Z.abs_nat (z - w)) by (apply pow_le; lra).
  replace ((/ r) ^ Z.abs_nat (v - w) * ((1 - r) / (1 + r) * r ^ Z.abs_nat (z - w)))
    with ((1 - r) / (1 + r) * (r ^ Z.abs_nat (z - w) * (/ r) ^ Z.abs_nat (v - w))) by ring.
  apply Rmult_le_compat_l; [assumption|]. apply Rle_trans with (1 := B). apply Rmult_le_compat_l; assumption.
Qed.

(** Vectors of integers whose distance in l1 is at most [units], with noise of scale units / epsilon: pure epsilon. *)
Fixpoint distance (us vs : list Z) : Z :=
  match us, vs with u :: us', v :: vs' => (Z.abs (u - v) + distance us' vs')%Z | _, _ => 0%Z end.

Lemma scaled_distance scale us vs : 0 < scale -> length us = length vs ->
  fold_right Rplus 0 (map (fun uv => IZR (Z.abs (fst uv - snd uv)) / scale) (combine us vs)) = IZR (distance us vs) / scale.
Proof.
  intro Hs. revert vs. induction us as [|u us IH]; intros [|v vs] L; try discriminate; simpl; [unfold Rdiv; ring|].
  rewrite IH by (injection L; auto). rewrite plus_IZR. field. lra.
Qed.

Theorem laplace_vectors eps units us vs f :
  0 < eps -> (0 < units)%Z -> length us = length vs -> (distance us vs <= units)%Z -> (forall l, 0 <= f l <= 1) ->
  Exs (map (noisy (exp (- / (IZR units / eps)))) us) f <= exp eps * Exs (map (noisy (exp (- / (IZR units / eps)))) vs) f.
Proof.
  intros He Hu L D Hf. set (scale := IZR units / eps). set (r := exp (- / scale)).
  assert (Hun : 0 < IZR units) by (apply IZR_lt; assumption).
  assert (Hs : 0 < scale) by (apply Rdiv_lt_0_compat; assumption).
  assert (Hr : 0 <= r < 1).
  { split; [left; apply exp_pos|]. unfold r. rewrite <- exp_0. apply exp_increasing. apply Ropp_lt_gt_0_contravar, Rinv_0_lt_compat, Hs. }
  assert (Hl : forall xs, List.Forall law (map (noisy r) xs)).
  { intro xs. apply Forall_map, List.Forall_forall. intros x _. apply noisy_law, Hr. }
  set (loss := fun uv => IZR (Z.abs (fst uv - snd uv)) / scale). set (es := map loss (combine us vs)).
  assert (Len : length es = length us) by (unfold es; rewrite map_length, combine_length; lia).
  assert (S := sums_of_losses es (map (noisy r) us) (map (noisy r) vs) (Hl us) (Hl vs)).
  rewrite !map_length in S. specialize (S Len L).
  assert (C : forall i, (i < length us)%nat -> close (nth i es 0) 0 (nth i (map (noisy r) us) (fun _ => 0)) (nth i (map (noisy r) vs) (fun _ => 0))).
  { intros i Hi. rewrite (nth_indep (map (noisy r) us) _ (noisy r 0%Z)), (nth_indep (map (noisy r) vs) _ (noisy r 0%Z)) by (rewrite map_length; lia).
    rewrite !map_nth. unfold es. rewrite (nth_indep (map loss _) 0 (loss (0%Z, 0%Z)))
      by (rewrite map_length, combine_length; lia).
    rewrite map_nth, combine_nth by assumption. apply laplace_private, Hs. }
  specialize (S C f Hf).
  apply Rle_trans with (1 := S). apply Rmult_le_compat_r.
  - apply Exs_unit; [apply Hl | exact Hf].
  - apply exp_le. unfold es, loss. rewrite scaled_distance by assumption. unfold scale.
    assert (IZR (distance us vs) <= IZR units) by (apply IZR_le; assumption).
    replace eps with (IZR units / (IZR units / eps)) at 2 by (field; lra).
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption | assumption].
Qed.

Lemma zeros_before (a : nat -> R) (k : nat) (l : R) :
  (forall n, (n < k)%nat -> a n = 0) -> is_series (fun n => a (k + n)%nat) l -> is_series a l.
Proof.
  revert a. induction k; intros a H T; [exact T|].
  apply (is_series_decr_1 (K := R_AbsRing) (V := R_NormedModule)).
  apply series_value with (l := l).
  - rewrite (H 0%nat) by lia. value.
  - apply (IHk (fun n => a (S n))); [intros n Hn; apply H; lia | exact T].
Qed.

(** The tail: the chance to miss by more than [k] steps is 2 r^(k+1) / (1 + r), which is what an interval is computed from. *)
Theorem laplace_tail r k :
  0 <= r < 1 ->
  sums_to (fun z => if (Z.of_nat k <? Z.abs z)%Z then laplace r z else 0) (2 * r ^ (k + 1) / (1 + r)).
Proof.
  intro H. set (c := (1 - r) / (1 + r)). assert (G := geometric_from r c (k + 1) H).
  exists (c * r ^ (k + 1) / (1 - r)), (c * r ^ (k + 1) / (1 - r)). repeat split.
  - apply zeros_before with (k := (k + 1)%nat).
    + intros n Hn. destruct (Z.ltb_spec (Z.of_nat k) (Z.abs (Z.of_nat n))); [lia | reflexivity].
    + apply is_series_ext with (2 := G). intro n.
      destruct (Z.ltb_spec (Z.of_nat k) (Z.abs (Z.of_nat (k + 1 + n)))); [|lia].
      unfold laplace. fold c. do 2 f_equal. lia.
  - apply zeros_before with (k := k).
    + intros n Hn. destruct (Z.ltb_spec (Z.of_nat k) (Z.abs (- Z.of_nat n - 1))); [lia | reflexivity].
    + apply is_series_ext with (2 := G). intro n.
      destruct (Z.ltb_spec (Z.of_nat k) (Z.abs (- Z.of_nat (k + n) - 1))); [|lia].
      unfold laplace. fold c. do 2 f_equal. lia.
  - unfold c. field. lra.
Qed.
