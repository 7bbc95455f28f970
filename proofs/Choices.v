(** Laws on finitely many outcomes: randomized response and the exponential mechanism.
    src/tacit/mechanisms/randomized_response.md, publish/local/randomizers/categories.md, mechanisms/exponential.md. *)

From Coq Require Import Reals Lra Lia List Arith.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Composition.
Import ListNotations.
Open Scope R_scope.

(** * Finite sums *)

Fixpoint fsum (k : nat) (f : nat -> R) : R := match k with O => 0 | S j => fsum j f + f j end.

Lemma fsum_ext k f g : (forall n, (n < k)%nat -> f n = g n) -> fsum k f = fsum k g.
Proof. intro H. induction k; simpl; [reflexivity|]. rewrite IHk by (intros; apply H; lia). rewrite (H k) by lia. reflexivity. Qed.

Lemma fsum_le k f g : (forall n, (n < k)%nat -> f n <= g n) -> fsum k f <= fsum k g.
Proof. intro H. induction k; simpl; [lra|]. apply Rplus_le_compat; [apply IHk; intros; apply H; lia | apply H; lia]. Qed.

Lemma fsum_scal k c f : fsum k (fun n => c * f n) = c * fsum k f.
Proof. induction k; simpl; [ring|]. rewrite IHk. ring. Qed.

Lemma fsum_const k c : fsum k (fun _ => c) = INR k * c.
Proof. induction k; simpl fsum; [simpl; ring|]. rewrite IHk, S_INR. ring. Qed.

Lemma fsum_plus k f g : fsum k (fun n => f n + g n) = fsum k f + fsum k g.
Proof. induction k; simpl; [ring|]. rewrite IHk. ring. Qed.

Lemma fsum_pos k f : (forall n, (n < k)%nat -> 0 <= f n) -> 0 <= fsum k f.
Proof. intro H. rewrite <- (Rmult_0_r (INR k)), <- fsum_const. apply fsum_le, H. Qed.

Lemma fsum_one k j c : (j < k)%nat -> fsum k (fun n => if Nat.eqb n j then c else 0) = c.
Proof.
  induction k; intro H; [lia|]. simpl. destruct (Nat.eqb_spec k j).
  - subst. rewrite (fsum_ext j _ (fun _ => 0)), fsum_const; [ring|].
    intros n Hn. destruct (Nat.eqb_spec n j); [lia | reflexivity].
  - rewrite IHk by lia. ring.
Qed.

(** The law of [k] outcomes: no mass elsewhere. *)
Definition upto (k : nat) (f : nat -> R) (n : nat) : R := if Nat.ltb n k then f n else 0.

Lemma upto_series k f : is_series (upto k f) (fsum k f).
Proof.
  revert f. induction k; intro f.
  - simpl. apply (is_series_ext (fun n => 0 * (/ 2) ^ n)); [intro n; unfold upto; simpl; apply Rmult_0_l|].
    apply series_value with (l := 0 * / (1 - / 2)); [ring|].
    apply (is_series_scal (K := R_AbsRing) (V := R_NormedModule) 0 (fun n => (/ 2) ^ n) (/ (1 - / 2))).
    apply is_series_geom. rewrite Rabs_right; lra.
  - assert (E : fsum (S k) f = f 0%nat + fsum k (fun n => f (S n))).
    { clear. induction k; simpl in *; [ring|]. rewrite IHk. ring. }
    apply (is_series_decr_1 (K := R_AbsRing) (V := R_NormedModule)).
    apply series_value with (l := fsum k (fun n => f (S n))).
    2: { apply is_series_ext with (2 := IHk (fun n => f (S n))). intro n. reflexivity. }
    change (fsum k (fun n => f (S n)) = fsum (S k) f + - f 0%nat). rewrite E. ring.
Qed.

Lemma upto_law k f : (forall n, (n < k)%nat -> 0 <= f n) -> fsum k f = 1 -> law (upto k f).
Proof.
  intros Hp Ht. split; [|rewrite <- Ht; apply upto_series].
  intro n. unfold upto. destruct (Nat.ltb_spec n k); [apply Hp; assumption | lra].
Qed.

Lemma Ex_upto k f g : Ex (upto k f) g = fsum k (fun n => f n * g n).
Proof.
  unfold Ex. apply is_series_unique. apply is_series_ext with (2 := upto_series k (fun n => f n * g n)).
  intro n. unfold upto. destruct (Nat.ltb n k); [reflexivity | symmetry; apply Rmult_0_l].
Qed.

(** * Randomized response *)

(** Of [k] answers the true one is reported with probability [stay], each other one with probability [move]. *)
Definition response (stay move : R) (truth n : nat) : R := if Nat.eqb n truth then stay else move.

Section RandomizedResponse.
Variables (k : nat) (stay move eps : R).
Hypothesis answers : (2 <= k)%nat.
Hypothesis positive : 0 < move.
Hypothesis total : stay + (INR k - 1) * move = 1.
Hypothesis ratio : stay = exp eps * move.
Hypothesis loss : 0 < eps.

Lemma response_split truth n : response stay move truth n = move + (if Nat.eqb n truth then stay - move else 0).
Proof. unfold response. destruct (Nat.eqb n truth); ring. Qed.

Lemma stay_more : move < stay.
Proof. rewrite ratio. pose proof (exp_ineq1 eps ltac:(lra)). nra. Qed.

Theorem response_law truth : (truth < k)%nat -> law (upto k (response stay move truth)).
Proof.
  intro H. pose proof stay_more. apply upto_law.
  - intros n _. unfold response. destruct (Nat.eqb n truth); lra.
  - rewrite (fsum_ext _ _ (fun n => move + (if Nat.eqb n truth then stay - move else 0))) by (intros; apply response_split).
    rewrite fsum_plus, fsum_const, fsum_one by assumption. lra.
Qed.

(** Pure epsilon for whatever two answers a person might have. *)
Theorem response_private x y : (x < k)%nat -> (y < k)%nat -> close eps 0 (upto k (response stay move x)) (upto k (response stay move y)).
Proof.
  intros Hx Hy. apply pointwise_close; try (apply response_law; assumption).
  intro n. unfold upto, response. pose proof stay_more. pose proof (exp_ineq1 eps ltac:(lra)).
  destruct (Nat.ltb n k); [|lra]. destruct (Nat.eqb n x), (Nat.eqb n y); rewrite ?ratio; nra.
Qed.

(** The estimate of whether a person's answer is [j], from the report [n]. *)
Definition estimate (j n : nat) : R := (ind (Nat.eqb n j) - move) / (stay - move).

(** It has no bias. *)
Theorem estimate_unbiased truth j :
  (truth < k)%nat -> (j < k)%nat -> Ex (upto k (response stay move truth)) (estimate j) = ind (Nat.eqb truth j).
Proof.
  intros Ht Hj. pose proof stay_more. rewrite Ex_upto.
  assert (T : fsum k (response stay move truth) = 1).
  { rewrite (fsum_ext _ _ (fun n => move + (if Nat.eqb n truth then stay - move else 0))) by (intros; apply response_split).
    rewrite fsum_plus, fsum_const, fsum_one by assumption. lra. }
  rewrite (fsum_ext _ _ (fun n => / (stay - move) * (if Nat.eqb n j then response stay move truth j else 0)
    + - (move / (stay - move)) * response stay move truth n)).
  - rewrite fsum_plus, !fsum_scal, T, fsum_one by assumption. unfold response. rewrite (Nat.eqb_sym j truth).
    destruct (Nat.eqb truth j); simpl; field; lra.
  - intros n _. unfold estimate. destruct (Nat.eqb_spec n j); subst; simpl; field; lra.
Qed.
End RandomizedResponse.

(** * The exponential mechanism *)

Definition weight (f : R) (u : nat -> R) (n : nat) : R := exp (f * u n).
Definition weights (k : nat) (f : R) (u : nat -> R) : R := fsum k (weight f u).
Definition choice (k : nat) (f : R) (u : nat -> R) : nat -> R := upto k (fun n => weight f u n / weights k f u).

Lemma weights_pos k f u : (0 < k)%nat -> 0 < weights k f u.
Proof.
  intro H. destruct k; [lia|]. unfold weights. simpl.
  apply Rplus_le_lt_0_compat; [apply fsum_pos; intros; left; apply exp_pos | apply exp_pos].
Qed.

Theorem choice_law k f u : (0 < k)%nat -> law (choice k f u).
Proof.
  intro H. pose proof (weights_pos k f u H). apply upto_law.
  - intros n _. apply Rdiv_le_0_compat; [left; apply exp_pos | assumption].
  - rewrite (fsum_ext _ _ (fun n => / weights k f u * weight f u n)) by (intros; unfold Rdiv; ring).
    rewrite fsum_scal. unfold weights in *. field. lra.
Qed.

(** What counts is the range of the change over candidates: with it at most 2 S and f = eps / (2 S) this is pure epsilon, and all
    ratios lie in one interval of that length. *)
Theorem choice_private k f u w lo hi :
  (0 < k)%nat -> 0 <= f -> (forall n, (n < k)%nat -> lo <= u n - w n <= hi) ->
  close (f * (hi - lo)) 0 (choice k f u) (choice k f w).
Proof.
  intros Hk Hf Hd. apply pointwise_close; try (apply choice_law; assumption).
  intro n. unfold choice, upto. destruct (Nat.ltb_spec n k) as [h|h]; [|lra].
  pose proof (weights_pos k f u Hk) as Pu. pose proof (weights_pos k f w Hk) as Pw.
  assert (A : weight f u n <= exp (f * hi) * weight f w n).
  { unfold weight. rewrite <- exp_plus. apply exp_le. specialize (Hd n h). nra. }
  assert (B : weights k f w <= exp (- (f * lo)) * weights k f u).
  { unfold weights. rewrite <- fsum_scal. apply fsum_le. intros m Hm. unfold weight. rewrite <- exp_plus. apply exp_le.
    specialize (Hd m Hm). nra. }
  replace (f * (hi - lo)) with (f * hi + - (f * lo)) by ring. rewrite exp_plus.
  apply Rmult_le_reg_r with (weights k f u * weights k f w); [apply Rmult_lt_0_compat; assumption|].
  replace (weight f u n / weights k f u * (weights k f u * weights k f w)) with (weight f u n * weights k f w) by (field; lra).
  replace (exp (f * hi) * exp (- (f * lo)) * (weight f w n / weights k f w) * (weights k f u * weights k f w))
    with ((exp (f * hi) * weight f w n) * (exp (- (f * lo)) * weights k f u)) by (field; lra).
  apply Rmult_le_compat; try assumption; left; [apply exp_pos | assumption].
Qed.

Corollary exponential_mechanism k eps s u w :
  (0 < k)%nat -> 0 <= eps -> 0 < s -> (forall n, (n < k)%nat -> Rabs (u n - w n) <= s) ->
  close eps 0 (choice k (eps / (2 * s)) u) (choice k (eps / (2 * s)) w).
Proof.
  intros Hk He Hs Hd. replace eps with (eps / (2 * s) * (s - - s)) at 1 by (field; lra).
  apply choice_private; [assumption | apply Rdiv_le_0_compat; lra|].
  intros n Hn. apply Rabs_le_between, Hd, Hn.
Qed.

(** Utility: a candidate that is worse than the best by [t] is chosen with probability at most k e^(-f t). *)
Theorem choice_utility k f u best t :
  (best < k)%nat -> 0 <= f -> (forall n, (n < k)%nat -> u n <= u best) ->
  Pr (choice k f u) (fun n => if Rle_dec (u n) (u best - t) then true else false) <= INR k * exp (- (f * t)).
Proof.
  intros Hb Hf Hu. unfold Pr, choice. rewrite Ex_upto, <- fsum_const. apply fsum_le. intros n Hn.
  assert (P := weights_pos k f u ltac:(lia)).
  destruct (Rle_dec (u n) (u best - t)) as [h|h]; simpl.
  2: { rewrite Rmult_0_r. left. apply exp_pos. }
  rewrite Rmult_1_r.
  assert (L : exp (f * u best) <= weights k f u).
  { unfold weights. rewrite <- (fsum_one k best (exp (f * u best)) Hb). apply fsum_le. intros m _.
    destruct (Nat.eqb_spec m best); [subst; right; reflexivity | left; apply exp_pos]. }
  apply Rmult_le_reg_r with (weights k f u); [assumption|].
  replace (weight f u n / weights k f u * weights k f u) with (weight f u n) by (field; lra).
  apply Rle_trans with (exp (- (f * t)) * exp (f * u best)).
  - unfold weight. rewrite <- exp_plus. apply exp_le. nra.
  - apply Rmult_le_compat_l; [left; apply exp_pos | exact L].
Qed.
