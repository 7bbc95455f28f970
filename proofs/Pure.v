(** The triple of an event with pure loss: src/tacit/accounting/composition.md. It is (epsilon, epsilon tanh(epsilon / 2), 0), so that
    every pure mechanism is an event of Filter.v. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Filter Laplace.
Open Scope R_scope.

(** tanh(x / 2) *)
Definition tanh_half (x : R) : R := (exp x - 1) / (exp x + 1).

(** * Hyperbolic functions *)

Definition c (s : R) := exp s + exp (- s).
Definition d (s : R) := exp s - exp (- s).

Lemma c_pos s : 0 < c s.
Proof. unfold c. pose proof (exp_pos s). pose proof (exp_pos (- s)). lra. Qed.

(** A function that begins at or above 0 and does not fall stays there. *)
Lemma stays (f g : R -> R) a b : a <= b -> 0 <= f a -> (forall x, a <= x <= b -> is_derive f x (g x)) -> (forall x, a <= x <= b -> 0 <= g x) -> 0 <= f b.
Proof.
  intros [L|L] Ha D P; [|subst; exact Ha].
  destruct (MVT_cor2 f g a b L (fun x H => proj1 (is_derive_Reals f x (g x)) (D x H))) as (x & E & X & Y).
  specialize (P x ltac:(lra)). nra.
Qed.

Lemma exp_sum s : 2 <= c s.
Proof.
  unfold c. rewrite exp_Ropp. pose proof (exp_pos s) as P. assert (Q : 0 < / exp s) by (apply Rinv_0_lt_compat, P).
  assert (N : 0 <= (exp s - 1) * (exp s - 1) * / exp s) by (apply Rmult_le_pos; [apply Rle_0_sqr | lra]).
  replace ((exp s - 1) * (exp s - 1) * / exp s) with (exp s + / exp s - 2) in N by (field; lra). lra.
Qed.

Lemma d_above s : 0 <= s -> 2 * s <= d s.
Proof.
  intro H. assert (0 <= d s - 2 * s); [|lra].
  apply (stays (fun x => d x - 2 * x) (fun x => c x - 2) 0 s H).
  - unfold d. rewrite Ropp_0. lra.
  - intros x _. unfold d, c. auto_derive; [exact I | ring].
  - intros x _. pose proof (exp_sum x). lra.
Qed.

Lemma c_rises a b : 0 <= a <= b -> c a <= c b.
Proof.
  intro H. assert (0 <= c b - c a); [|lra].
  apply (stays (fun x => c x - c a) d a b); [lra | lra | |].
  - intros x _. unfold d, c. auto_derive; [exact I | ring].
  - intros x L. pose proof (d_above x ltac:(lra)). lra.
Qed.

(** tanh(s) / s falls, *)
Lemma tanh_slope a s : 0 < a <= s -> a * (d s / c s) <= s * (d a / c a).
Proof.
  intro H. assert (0 <= s * (d a / c a) - a * (d s / c s)); [|lra].
  apply (stays (fun x => x * (d a / c a) - a * (d x / c x)) (fun x => d a / c a - a * (4 / (c x * c x))) a s); [lra | lra | |].
  - intros x _. pose proof (c_pos x) as P. unfold d, c in *. auto_derive; [lra|].
    assert (E : exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    replace 4 with (4 * (exp x * exp (- x))) by (rewrite E; ring). field. pose proof (c_pos a) as A. unfold c in A. split; lra.
  - intros x L. pose proof (c_pos a) as A. pose proof (c_rises a x ltac:(lra)) as M.
    assert (D : 4 * a <= d a * c a).
    { assert (E : d a * c a = d (2 * a)).
      { unfold d, c. replace (- (2 * a)) with (- a + - a) by ring. replace (2 * a) with (a + a) by ring. rewrite !exp_plus. ring. }
      rewrite E. pose proof (d_above (2 * a) ltac:(lra)). lra. }
    assert (F : a * (4 / (c x * c x)) <= a * (4 / (c a * c a))).
    { apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; nra. }
    assert (G : a * (4 / (c a * c a)) <= d a / c a).
    { apply Rmult_le_reg_r with (c a * c a); [nra|]. replace (a * (4 / (c a * c a)) * (c a * c a)) with (4 * a) by (field; lra).
      replace (d a / c a * (c a * c a)) with (d a * c a) by (field; lra). exact D. }
    lra.
Qed.

(** so the logarithm of cosh, as a function of the square, is below its tangent. *)
Lemma cosh_tangent a s : 0 < a <= s -> ln (c s) - ln (c a) <= (s * s - a * a) * (d a / c a) / (2 * a).
Proof.
  intro H. assert (0 <= (s * s - a * a) * (d a / c a) / (2 * a) - (ln (c s) - ln (c a))); [|lra].
  apply (stays (fun x => (x * x - a * a) * (d a / c a) / (2 * a) - (ln (c x) - ln (c a))) (fun x => x * (d a / c a) / a - d x / c x) a s); [lra | | |].
  - replace (a * a - a * a) with 0 by ring. unfold Rdiv. lra.
  - intros x _. pose proof (c_pos x) as P. pose proof (c_pos a) as A. unfold d, c in *. auto_derive; [lra|]. field. lra.
  - intros x L. pose proof (tanh_slope a x ltac:(lra)).
    assert (d x / c x <= x * (d a / c a) / a); [|lra].
    apply Rmult_le_reg_r with a; [lra|]. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** * The power moment of a pure pair *)

Lemma exp_tangent x y : exp y * (1 + x - y) <= exp x.
Proof. replace x with (y + (x - y)) at 2 by ring. rewrite exp_plus. pose proof (exp_ineq1_le (x - y)). pose proof (exp_pos y). nra. Qed.

Lemma power_tangent a b : 1 < a -> 1 + a * (exp b - 1) <= exp (a * b).
Proof. intro H. pose proof (exp_tangent (a * b) b). pose proof (exp_tangent 0 b). rewrite exp_0 in *. nra. Qed.

(** Weight on the upper end: p lies between e^-eps q and e^eps q. *)
Definition upper (eps p q : R) : R := (p - q * exp (- eps)) / d eps.

Lemma d_pos eps : 0 < eps -> 0 < d eps.
Proof. intro H. pose proof (d_above eps ltac:(lra)). lra. Qed.

Lemma chord a eps p q : 1 < a -> 0 < eps -> 0 <= p -> 0 <= q -> p <= exp eps * q -> q <= exp eps * p ->
  pw a p q <= upper eps p q * exp (a * eps) + (q - upper eps p q) * exp (- (a * eps)).
Proof.
  intros Ha He Hp Hq H1 H2. pose proof (d_pos eps He) as D. pose proof (exp_pos eps) as E. pose proof (exp_pos (- eps)) as E'.
  assert (I : exp eps * exp (- eps) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  set (w := upper eps p q).
  assert (W0 : 0 <= w) by (apply Rdiv_le_0_compat; [nra | exact D]).
  assert (W : w * d eps = p - q * exp (- eps)) by (unfold w, upper; field; lra).
  assert (W1 : w <= q).
  { apply Rmult_le_reg_r with (d eps); [exact D|]. rewrite W. unfold d. lra. }
  unfold pw. destruct (Rlt_dec 0 p) as [P|P].
  2: { pose proof (exp_pos (a * eps)). pose proof (exp_pos (- (a * eps))). nra. }
  assert (Q : 0 < q) by (destruct (Rlt_dec 0 q); [assumption | assert (q = 0) by lra; subst; lra]).
  set (m := ln p - ln q).
  assert (R : Rpower p a * Rpower q (1 - a) = q * exp (a * m)).
  { unfold Rpower. rewrite <- exp_plus. replace q with (exp (ln q)) at 2 by (apply exp_ln, Q). rewrite <- exp_plus. f_equal. unfold m. ring. }
  rewrite R. assert (M : p * exp (- m) = q).
  { unfold m. replace (- (ln p - ln q)) with (ln q + - ln p) by ring. rewrite exp_plus, exp_Ropp, !exp_ln by assumption. field. lra. }
  assert (T : forall e, exp (a * m) * (1 + a * (exp e * exp (- m) - 1)) <= exp (a * e)).
  { intro e. pose proof (power_tangent a (e - m) Ha) as X. replace (e - m) with (e + - m) in X at 1 by ring. rewrite exp_plus in X.
    replace (a * e) with (a * m + a * (e - m)) by ring. rewrite exp_plus. apply Rmult_le_compat_l; [left; apply exp_pos | exact X]. }
  pose proof (T eps) as T1. pose proof (T (- eps)) as T2. replace (a * - eps) with (- (a * eps)) in T2 by ring.
  apply Rle_trans with (w * (exp (a * m) * (1 + a * (exp eps * exp (- m) - 1))) + (q - w) * (exp (a * m) * (1 + a * (exp (- eps) * exp (- m) - 1)))).
  - right. assert (K : w * exp eps + (q - w) * exp (- eps) = p) by (unfold d in W; lra).
    replace (w * (exp (a * m) * (1 + a * (exp eps * exp (- m) - 1))) + (q - w) * (exp (a * m) * (1 + a * (exp (- eps) * exp (- m) - 1))))
      with (exp (a * m) * (q + a * ((w * exp eps + (q - w) * exp (- eps)) * exp (- m) - q))) by ring.
    rewrite K, M. ring.
  - apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

Lemma moment a eps : 1 < a -> 0 < eps ->
  / (exp eps + 1) * exp (a * eps) + (1 - / (exp eps + 1)) * exp (- (a * eps)) <= exp (a * (a - 1) * (eps * tanh_half eps)).
Proof.
  intros Ha He. set (x := eps / 2). set (s := (a - / 2) * eps). assert (X : 0 < x <= s) by (unfold x, s; nra).
  assert (T := cosh_tangent x s X). pose proof (c_pos x) as Cx. pose proof (c_pos s) as Cs.
  assert (Half : exp eps = exp x * exp x) by (rewrite <- exp_plus; f_equal; unfold x; lra).
  assert (I : exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  pose proof (exp_pos x) as Ex. pose proof (exp_pos (- x)) as Ex'.
  assert (L : / (exp eps + 1) * exp (a * eps) + (1 - / (exp eps + 1)) * exp (- (a * eps)) = c s / c x).
  { assert (A : exp (a * eps) = exp x * exp s) by (rewrite <- exp_plus; f_equal; unfold x, s; lra).
    assert (B : exp eps * exp (- (a * eps)) = exp x * exp (- s)) by (rewrite <- !exp_plus; f_equal; unfold x, s; lra).
    assert (N : exp eps + 1 = exp x * c x) by (unfold c; rewrite Half; lra).
    assert (0 < exp eps) by apply exp_pos.
    replace (1 - / (exp eps + 1)) with (exp eps / (exp eps + 1)) by (field; lra).
    unfold Rdiv. rewrite (Rmult_comm (exp eps)), (Rmult_assoc (/ (exp eps + 1))), A, B, N. unfold c at 3. field. lra. }
  rewrite L. replace (c s / c x) with (exp (ln (c s) - ln (c x))).
  2: { unfold Rminus. rewrite exp_plus, exp_Ropp, !exp_ln by assumption. reflexivity. }
  apply exp_le. apply Rle_trans with (1 := T). right.
  assert (H : d x / c x = tanh_half eps).
  { unfold d, c, tanh_half. rewrite Half. assert (exp x + exp (- x) <> 0) by lra. assert (exp x * exp x + 1 <> 0) by nra.
    replace (exp x * exp x - 1) with (exp x * (exp x - exp (- x))) by lra. replace (exp x * exp x + 1) with (exp x * (exp x + exp (- x))) by lra.
    field. lra. }
  rewrite H. unfold s, x. field. lra.
Qed.

(** A pair of laws within e^eps of each other, outcome by outcome, is an event with this triple. *)
Theorem pure_event eps p q : 0 <= eps -> law p -> law q -> (forall n, p n <= exp eps * q n) -> (forall n, q n <= exp eps * p n) ->
  event (Sums (Some eps) (eps * tanh_half eps) 0) p q p q.
Proof.
  intros He Lp Lq H1 H2. pose proof (law_pos p Lp) as P. pose proof (law_pos q Lq) as Q. pose proof (exp_pos eps) as E.
  assert (T : 0 <= tanh_half eps).
  { unfold tanh_half. apply Rdiv_le_0_compat; [|lra]. pose proof (exp_ineq1_le eps). lra. }
  assert (Main : forall a, 1 < a -> ex_series (fun n => pw a (p n) (q n)) /\ Series (fun n => pw a (p n) (q n)) <= exp (a * (a - 1) * (eps * tanh_half eps))).
  { intros a Ha. destruct He as [He|He].
    - pose proof (d_pos eps He) as D.
      set (b := fun n => upper eps (p n) (q n) * exp (a * eps) + (q n - upper eps (p n) (q n)) * exp (- (a * eps))).
      set (u := exp (a * eps)). set (v := exp (- (a * eps))).
      assert (Eq : forall n, b n = (u - v) / d eps * p n + (v - exp (- eps) * (u - v) / d eps) * q n) by (intro n; unfold b, upper, u, v; field; lra).
      assert (Xb : ex_series b) by (apply (ex_series_ext _ b (fun n => eq_sym (Eq n))), ex_plus; apply ex_scal, law_ex; assumption).
      assert (Le : forall n, 0 <= pw a (p n) (q n) <= b n) by (intro n; split; [apply pw_pos | apply chord; auto]).
      assert (Xp : ex_series (fun n => pw a (p n) (q n))).
      { apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule)) with (b := b); [|exact Xb].
        intro n. change (Rabs (pw a (p n) (q n)) <= b n). rewrite Rabs_right; [apply Le | apply Rle_ge, Le]. }
      split; [exact Xp|]. apply Rle_trans with (Series b); [apply Series_le_ex; [intro; apply Le | exact Xp | exact Xb]|].
      rewrite (Series_ext b _ Eq), Series_plus, !Series_scal_l, (law_total p Lp), (law_total q Lq) by (apply ex_scal, law_ex; assumption).
      apply Rle_trans with (2 := moment a eps Ha He). fold u v. right.
      assert (I : exp eps * exp (- eps) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      assert (N : d eps = (exp eps + 1) * (1 - exp (- eps))) by (unfold d; lra).
      assert (Pos : 0 < 1 - exp (- eps)) by (assert (exp (- eps) < 1) by (rewrite <- exp_0; apply exp_increasing; lra); lra).
      rewrite N. field. lra.
    - subst eps. rewrite exp_0 in *. assert (Eq : forall n, pw a (p n) (q n) = p n).
      { intro n. assert (p n = q n) by (specialize (H1 n); specialize (H2 n); lra). rewrite <- H. unfold pw. specialize (P n). destruct (Rlt_dec 0 (p n)); [|lra].
        rewrite <- Rpower_plus. replace (a + (1 - a)) with 1 by ring. apply Rpower_1. assumption. }
      split; [apply (ex_series_ext p); [intro; symmetry; apply Eq | apply law_ex, Lp]|].
      rewrite (Series_ext _ p Eq), (law_total p Lp), Rmult_0_l, Rmult_0_r, exp_0. lra. }
  constructor; cbn [sum_eps sum_rho sum_delta]; try assumption; try lra.
  - intro n. specialize (P n). lra.
  - intro n. specialize (Q n). lra.
  - intros n H. specialize (H1 n). specialize (Q n). destruct (Rlt_dec 0 (q n)); [assumption | assert (q n = 0) by lra; nra].
  - apply Rmult_le_pos; assumption.
  - rewrite (law_total p Lp). lra.
  - intros a Ha. apply Main, Ha.
  - intros a Ha. apply Main, Ha.
Qed.

(** For example discrete Laplace noise on a number that moves by at most [units] steps. *)
Theorem laplace_event eps units v w : 0 < eps -> (0 < units)%Z -> (Z.abs (v - w) <= units)%Z ->
  let noise z := noisy (exp (- / (IZR units / eps))) z in
  event (Sums (Some eps) (eps * tanh_half eps) 0) (noise v) (noise w) (noise v) (noise w).
Proof.
  intros He Hu H noise. assert (Un : 0 < IZR units) by (apply IZR_lt; assumption).
  assert (Hs : 0 < IZR units / eps) by (apply Rdiv_lt_0_compat; assumption).
  assert (Hr : 0 <= exp (- / (IZR units / eps)) < 1).
  { split; [left; apply exp_pos|]. rewrite <- exp_0. apply exp_increasing, Ropp_lt_gt_0_contravar, Rinv_0_lt_compat, Hs. }
  assert (C : forall x y, (Z.abs (x - y) <= units)%Z -> forall n, noise x n <= exp eps * noise y n).
  { intros x y D n. assert (L := close_pointwise _ _ _ (noisy_law _ x Hr) (noisy_law _ y Hr) (laplace_private _ x y Hs) n).
    apply Rle_trans with (1 := L). apply Rmult_le_compat_r; [apply (proj1 (noisy_law _ y Hr))|]. apply exp_le. apply IZR_le in D.
    apply Rmult_le_reg_r with (IZR units / eps); [exact Hs|]. replace (IZR (Z.abs (x - y)) / (IZR units / eps) * (IZR units / eps)) with (IZR (Z.abs (x - y))) by (field; lra).
    replace (eps * (IZR units / eps)) with (IZR units) by (field; lra). exact D. }
  apply pure_event; [lra | apply noisy_law, Hr | apply noisy_law, Hr | apply C, H | apply C; lia].
Qed.
