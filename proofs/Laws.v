(** Laws on countable sets, sums over them, and closeness.

    Outcomes are numbered by the natural numbers. A law is a function that gives each outcome its mass. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
Import ListNotations.
Open Scope R_scope.

Definition law (p : nat -> R) : Prop := (forall n, 0 <= p n) /\ is_series p 1.

(** The expectation of a function of the outcome. *)
Definition Ex (p f : nat -> R) : R := Series (fun n => p n * f n).

Definition ind (b : bool) : R := if b then 1 else 0.

(** The probability of a set of outcomes. *)
Definition Pr (p : nat -> R) (S : nat -> bool) : R := Ex p (fun n => ind (S n)).

Definition unit_valued (f : nat -> R) : Prop := forall n, 0 <= f n <= 1.

Lemma ind_unit b : 0 <= ind b <= 1.
Proof. destruct b; simpl; lra. Qed.

(** * Sums of products with bounded functions *)

Lemma ex_series_bounded p f c :
  (forall n, 0 <= p n) -> ex_series p -> (forall n, 0 <= f n <= c) -> ex_series (fun n => p n * f n).
Proof.
  intros Hp Hs Hf.
  apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule)) with (b := fun n => c * p n).
  - intro n. specialize (Hp n). specialize (Hf n).
    change (Rabs (p n * f n) <= c * p n).
    rewrite Rabs_right by (apply Rle_ge; apply Rmult_le_pos; lra). nra.
  - apply (ex_series_scal (K := R_AbsRing) (V := R_NormedModule) c p Hs).
Qed.

Lemma law_pos p : law p -> forall n, 0 <= p n.
Proof. intros [H _]; exact H. Qed.

Lemma law_ex p : law p -> ex_series p.
Proof. intros [_ H]; exists 1; exact H. Qed.

Lemma ex_unit p f : law p -> unit_valued f -> ex_series (fun n => p n * f n).
Proof. intros Hp Hf. apply (ex_series_bounded p f 1); auto using law_pos, law_ex. Qed.

Lemma ex_scal c a : ex_series a -> ex_series (fun n => c * a n).
Proof. exact (ex_series_scal (K := R_AbsRing) (V := R_NormedModule) c a). Qed.

Lemma ex_minus a b : ex_series a -> ex_series b -> ex_series (fun n => a n - b n).
Proof. exact (ex_series_minus (K := R_AbsRing) (V := R_NormedModule) a b). Qed.

Lemma ex_plus a b : ex_series a -> ex_series b -> ex_series (fun n => a n + b n).
Proof. exact (ex_series_plus (K := R_AbsRing) (V := R_NormedModule) a b). Qed.

Lemma series_value (a : nat -> R) (l m : R) : l = m -> is_series a l -> is_series a m.
Proof. intros ->; exact (fun H => H). Qed.

(** An equation between numbers that Coquelicot gives as elements of a module. *)
Ltac value := unfold plus, opp; simpl; match goal with |- ?a = ?b => change (@eq R a b) end; ring.

Lemma Series_le_ex a b :
  (forall n, a n <= b n) -> ex_series a -> ex_series b -> Series a <= Series b.
Proof.
  intros H Ha Hb.
  assert (He : ex_series (fun n => b n - a n)) by (apply (ex_series_minus b a Hb Ha)).
  assert (Hd : 0 <= Series (fun n => b n - a n)).
  { rewrite <- (Rmult_0_l (Series (fun n => b n - a n))), <- Series_scal_l.
    apply Series_le; [intro n; specialize (H n); lra | exact He]. }
  rewrite Series_minus in Hd by assumption. lra.
Qed.

Lemma Series_pos a : (forall n, 0 <= a n) -> ex_series a -> 0 <= Series a.
Proof.
  intros H Ha. rewrite <- (Rmult_0_l (Series a)), <- Series_scal_l.
  apply Series_le; [intro n; specialize (H n); lra | exact Ha].
Qed.

Lemma law_total p : law p -> Series p = 1.
Proof. intros [_ H]. apply is_series_unique; exact H. Qed.

Lemma Ex_le p f g : law p -> unit_valued f -> unit_valued g -> (forall n, f n <= g n) -> Ex p f <= Ex p g.
Proof.
  intros Hp Hf Hg H. apply Series_le_ex; try (apply ex_unit; assumption).
  intro n. apply Rmult_le_compat_l; [apply law_pos; exact Hp | apply H].
Qed.

Lemma Ex_unit p f : law p -> unit_valued f -> 0 <= Ex p f <= 1.
Proof.
  intros Hp Hf. split.
  - apply Series_pos; [intro n | apply ex_unit; assumption].
    apply Rmult_le_pos; [apply law_pos; exact Hp | apply Hf].
  - rewrite <- (law_total p Hp). apply Series_le_ex.
    + intro n. pose proof (law_pos p Hp n). pose proof (Hf n). nra.
    + apply ex_unit; assumption.
    + apply law_ex; assumption.
Qed.

Lemma Pr_unit p S : law p -> 0 <= Pr p S <= 1.
Proof. intro Hp. apply Ex_unit; [exact Hp | intro n; apply ind_unit]. Qed.

Lemma Ex_const p c : law p -> Ex p (fun _ => c) = c.
Proof.
  intro Hp. unfold Ex. rewrite (Series_scal_r c p), law_total by assumption. ring.
Qed.

Lemma Ex_ext p f g : (forall n, f n = g n) -> Ex p f = Ex p g.
Proof. intro H. apply Series_ext. intro n. rewrite H. reflexivity. Qed.

(** * Closeness *)

(** On sets of outcomes: the definition of approximate differential privacy for one ordered pair of neighbours. *)
Definition close (eps delta : R) (p q : nat -> R) : Prop :=
  forall S, Pr p S <= exp eps * Pr q S + delta.

Lemma exp_ge_0 x : 0 <= exp x.
Proof. left. apply exp_pos. Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H|H]; [left; apply exp_increasing; exact H | right; subst; reflexivity]. Qed.

(** What holds for sets holds for functions with values between 0 and 1: only outcomes at which the first law has more than its
    share can add, and they are a set. *)
Theorem close_functions eps delta p q f :
  law p -> law q -> close eps delta p q -> unit_valued f -> Ex p f <= exp eps * Ex q f + delta.
Proof.
  intros Hp Hq Hc Hf.
  set (S := fun n => if Rlt_dec (exp eps * q n) (p n) then true else false).
  specialize (Hc S). unfold Pr in Hc.
  assert (U : unit_valued (fun n => ind (S n))) by (intro n; apply ind_unit).
  assert (H : Ex p f - exp eps * Ex q f <= Ex p (fun n => ind (S n)) - exp eps * Ex q (fun n => ind (S n))).
  { unfold Ex. rewrite <- !Series_scal_l, <- !Series_minus by (try apply ex_scal; apply ex_unit; assumption).
    apply Series_le_ex.
    - intro n. unfold S. pose proof (Hf n). destruct (Rlt_dec (exp eps * q n) (p n)); simpl; nra.
    - apply ex_minus; [|apply ex_scal]; apply ex_unit; assumption.
    - apply ex_minus; [|apply ex_scal]; apply ex_unit; assumption. }
  lra.
Qed.

(** Pure closeness may be checked outcome by outcome, *)
Theorem pointwise_close eps p q :
  law p -> law q -> (forall n, p n <= exp eps * q n) -> close eps 0 p q.
Proof.
  intros Hp Hq H S. unfold Pr, Ex. rewrite Rplus_0_r, <- Series_scal_l.
  assert (U : unit_valued (fun n => ind (S n))) by (intro n; apply ind_unit).
  apply Series_le_ex.
  - intro n. pose proof (H n). pose proof (ind_unit (S n)). pose proof (law_pos q Hq n). pose proof (exp_ge_0 eps). nra.
  - apply ex_unit; assumption.
  - apply ex_scal. apply ex_unit; assumption.
Qed.

(** and nothing is lost by it. *)
Lemma Pr_single p k : law p -> Pr p (Nat.eqb k) = p k.
Proof.
  intro Hp. unfold Pr, Ex.
  rewrite (Series_incr_n (fun n => p n * ind (Nat.eqb k n)) (S k)); simpl.
  - assert (Hz : Series (fun n => p (S (k + n))%nat * ind (Nat.eqb k (S (k + n)))) = 0).
    { rewrite (Series_ext _ (fun n => 0 * 0)).
      - rewrite Series_scal_l. ring.
      - intro n. destruct (Nat.eqb_spec k (S (k + n))); [lia | simpl; ring]. }
    replace (Series (fun k0 : nat => p (S (k + k0)) * ind (k =? S (k + k0))%nat)) with 0 by (symmetry; exact Hz).
    assert (Hsum : forall m, (m <= k)%nat ->
      sum_f_R0 (fun n => p n * ind (Nat.eqb k n)) m = if Nat.eqb m k then p k else 0).
    { induction m; intro Hm; simpl.
      - destruct k; simpl; ring.
      - rewrite IHm by lia.
        destruct (Nat.eqb_spec m k); [lia|].
        destruct k as [|k']; [lia|]. simpl.
        rewrite (Nat.eqb_sym k' m). destruct (Nat.eqb_spec m k'); subst; simpl; ring. }
    rewrite Hsum by lia. rewrite Nat.eqb_refl. ring.
  - lia.
  - apply ex_unit; [exact Hp | intro n; apply ind_unit].
Qed.

Theorem close_pointwise eps p q :
  law p -> law q -> close eps 0 p q -> forall n, p n <= exp eps * q n.
Proof.
  intros Hp Hq H n. specialize (H (Nat.eqb n)). rewrite !Pr_single in H by assumption. lra.
Qed.
