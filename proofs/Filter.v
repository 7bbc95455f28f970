(** The ledger's filter against an analyst who chooses every question after seeing all answers: src/tacit/accounting/filter.md. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws.
Import ListNotations.
Open Scope R_scope.

(** * Pure losses *)

(** A strategy: stop, or ask an event of loss [e], whose output has law [p] on one data set and [q] on its neighbour. What is asked
    next depends on the output, or on the refusal. *)
Inductive pure_strategy : Type :=
| PStop
| PAsk (e : R) (p q : nat -> R) (next : nat -> pure_strategy) (refused : pure_strategy).

Fixpoint pure_valid (t : pure_strategy) : Prop :=
  match t with
  | PStop => True
  | PAsk e p q next refused =>
      0 <= e /\ law p /\ law q /\ (forall n, p n <= exp e * q n) /\ (forall n, pure_valid (next n)) /\ pure_valid refused
  end.

(** The probability that the transcript lies in [S], where [side] chooses the law of each event. A refusal is a part of the
    transcript. *)
Fixpoint pure_run (side : (nat -> R) -> (nat -> R) -> nat -> R) (cap spent : R) (t : pure_strategy)
  (S : list (option nat) -> bool) : R :=
  match t with
  | PStop => ind (S [])
  | PAsk e p q next refused =>
      if Rle_dec (spent + e) cap
      then Ex (side p q) (fun n => pure_run side cap (spent + e) (next n) (fun l => S (Some n :: l)))
      else pure_run side cap spent refused (fun l => S (None :: l))
  end.

Definition one (p q : nat -> R) := p.
Definition other (p q : nat -> R) := q.

Lemma pure_run_unit side cap t :
  (forall p q, law p -> law q -> law (side p q)) -> pure_valid t ->
  forall spent S, 0 <= pure_run side cap spent t S <= 1.
Proof.
  intros Hs. induction t as [|e p q next IHn refused IHr]; intros Hv spent S; simpl; [apply ind_unit|].
  destruct Hv as (_ & Hp & Hq & _ & Hnext & Href).
  destruct (Rle_dec (spent + e) cap); [|apply IHr; assumption].
  apply Ex_unit; [apply Hs; assumption | intro n; apply IHn; apply Hnext].
Qed.

Lemma one_law p q : law p -> law q -> law (one p q).
Proof. auto. Qed.

Lemma other_law p q : law p -> law q -> law (other p q).
Proof. auto. Qed.

Theorem pure_filter cap t :
  pure_valid t -> forall spent S, spent <= cap ->
  pure_run one cap spent t S <= exp (cap - spent) * pure_run other cap spent t S.
Proof.
  induction t as [|e p q next IHn refused IHr]; intros Hv spent S Hle; simpl.
  - pose proof (ind_unit (S [])). pose proof (exp_ineq1_le (cap - spent)). nra.
  - destruct Hv as (He & Hp & Hq & Hpq & Hnext & Href).
    destruct (Rle_dec (spent + e) cap) as [h|h]; [|apply IHr; assumption].
    unfold Ex. rewrite <- Series_scal_l. apply Series_le_ex.
    + intro n. unfold one at 1, other at 1.
      assert (IH := IHn n (Hnext n) (spent + e) (fun l => S (Some n :: l)) h).
      assert (U := pure_run_unit other cap (next n) other_law (Hnext n) (spent + e) (fun l => S (Some n :: l))).
      pose proof (law_pos p Hp n). pose proof (law_pos q Hq n). specialize (Hpq n).
      set (x := pure_run one _ _ _ _) in *. set (y := pure_run other _ _ _ _) in *.
      replace (cap - spent) with (e + (cap - (spent + e))) by ring. rewrite exp_plus.
      pose proof (exp_ge_0 (cap - (spent + e))). pose proof (exp_ge_0 e).
      apply Rle_trans with (p n * (exp (cap - (spent + e)) * y)); [apply Rmult_le_compat_l; assumption|].
      assert (0 <= exp (cap - (spent + e)) * y) by (apply Rmult_le_pos; lra).
      apply Rle_trans with (exp e * q n * (exp (cap - (spent + e)) * y)); [apply Rmult_le_compat_r; assumption | lra].
    + apply ex_unit; [assumption | intro n; apply pure_run_unit; [apply one_law | apply Hnext]].
    + apply ex_scal, ex_unit; [assumption | intro n; apply pure_run_unit; [apply other_law | apply Hnext]].
Qed.

(** * The rule that runs *)

(** The sums of all spends; an event without an epsilon makes the first one infinite. *)
Record sums := Sums { sum_eps : option R; sum_rho : R; sum_delta : R }.

Definition plus_eps (a b : option R) : option R :=
  match a, b with Some x, Some y => Some (x + y) | _, _ => None end.

Definition after (s c : sums) : sums :=
  Sums (plus_eps (sum_eps s) (sum_eps c)) (sum_rho s + sum_rho c) (sum_delta s + sum_delta c).

Record cap := Cap { cap_eps : R; cap_rho : R; cap_events : R; order : R }.

Definition within_eps (k : cap) (s : sums) : Prop := match sum_eps s with Some e => e <= cap_eps k | None => False end.

Definition holds (k : cap) (s : sums) : Prop :=
  sum_delta s <= cap_events k /\ (within_eps k s \/ sum_rho s <= cap_rho k).

Definition holds_dec k s : {holds k s} + {~ holds k s}.
Proof.
  unfold holds, within_eps. destruct s as [[e|] r d]; simpl;
    destruct (Rle_dec d (cap_events k)); destruct (Rle_dec r (cap_rho k));
    try destruct (Rle_dec e (cap_eps k)); tauto.
Qed.

(** p^a q^(1-a), and 0 where p is 0. *)
Definition pw (a p q : R) : R := if Rlt_dec 0 p then Rpower p a * Rpower q (1 - a) else 0.

(** The triple of an event for one ordered pair of neighbours: composition.md, section 1. [u] and [v] are parts of the laws [p] and [q]. *)
Record event (c : sums) (p q u v : nat -> R) : Prop := {
  ev_p : law p; ev_q : law q;
  ev_u : forall n, 0 <= u n <= p n; ev_v : forall n, 0 <= v n <= q n;
  ev_continuous : forall n, 0 < u n -> 0 < v n;
  ev_rho_pos : 0 <= sum_rho c; ev_delta_pos : 0 <= sum_delta c;
  ev_delta : 1 - sum_delta c <= Series u;
  ev_eps : match sum_eps c with Some e => forall n, u n <= exp e * v n | None => True end;
  ev_summable : forall a, 1 < a -> ex_series (fun n => pw a (u n) (v n));
  ev_rho : forall a, 1 < a -> Series (fun n => pw a (u n) (v n)) <= exp (a * (a - 1) * sum_rho c)
}.

Definition admits_dec (others : bool) k s : {others = true /\ holds k s} + {~ (others = true /\ holds k s)}.
Proof. destruct (holds_dec k s); destruct others; try (left; tauto); right; intros [H K]; try discriminate; tauto. Defined.

(** What is asked next depends on all answers and refusals so far. [others] says whether everything else that can refuse admits the event:
    a token's own cap, another budget; all of these depend on the past alone, like the event. *)
Inductive strategy : Type :=
| Stop
| Ask (c : sums) (others : bool) (p q u v : nat -> R) (next : nat -> strategy) (refused : strategy).

Fixpoint valid (t : strategy) : Prop :=
  match t with
  | Stop => True
  | Ask c others p q u v next refused => event c p q u v /\ (forall n, valid (next n)) /\ valid refused
  end.

Fixpoint run (side : (nat -> R) -> (nat -> R) -> nat -> R) (k : cap) (s : sums) (t : strategy)
  (S : list (option nat) -> bool) : R :=
  match t with
  | Stop => ind (S [])
  | Ask c others p q u v next refused =>
      if admits_dec others k (after s c)
      then Ex (side p q) (fun n => run side k (after s c) (next n) (fun l => S (Some n :: l)))
      else run side k s refused (fun l => S (None :: l))
  end.

Lemma run_unit side k t :
  (forall p q, law p -> law q -> law (side p q)) -> valid t -> forall s S, 0 <= run side k s t S <= 1.
Proof.
  intros Hs. induction t as [|c others p q u v next IHn refused IHr]; intros Hv s S; simpl; [apply ind_unit|].
  destruct Hv as (He & Hnext & Href).
  destruct (admits_dec others k (after s c)); [|apply IHr; assumption].
  apply Ex_unit; [apply Hs; [apply (ev_p _ _ _ _ _ He) | apply (ev_q _ _ _ _ _ He)] | intro n; apply IHn; apply Hnext].
Qed.

(** The factor of the tight conversion (Canonne, Kamath and Steinke 2020). *)
Definition factor (a : R) : R := Rpower (1 - 1 / a) a / (a - 1).

Lemma factor_pos a : 1 < a -> 0 < factor a.
Proof. intro H. apply Rdiv_lt_0_compat; [unfold Rpower; apply exp_pos | lra]. Qed.

Lemma ln_le_minus_one x : 0 < x -> ln x <= x - 1.
Proof. intro H. pose proof (exp_ineq1_le (ln x)). rewrite exp_ln in H0 by assumption. lra. Qed.

Lemma below_one u : 0 < u < 1 -> 0 < 1 - u.
Proof. lra. Qed.

(** (1 - w) w^(a-1) is largest at w = 1 - 1/a. *)
Lemma tangent a w : 1 < a -> 0 < w -> 1 - w <= factor a * Rpower w (1 - a).
Proof.
  intros Ha Hw. destruct (Rlt_dec w 1) as [h|h].
  2: { apply Rle_trans with 0; [lra|]. apply Rmult_le_pos; [left; apply factor_pos; assumption | left; apply exp_pos]. }
  assert (Hx : 0 < a * (1 - w)) by nra.
  assert (Hy : 0 < w * a / (a - 1)) by (apply Rdiv_lt_0_compat; nra).
  assert (L := ln_le_minus_one _ Hx). assert (M := ln_le_minus_one _ Hy).
  assert (T : ln (a * (1 - w)) + (a - 1) * ln (w * a / (a - 1)) <= 0).
  { apply Rle_trans with (a * (1 - w) - 1 + (a - 1) * (w * a / (a - 1) - 1)).
    - apply Rplus_le_compat; [lra | apply Rmult_le_compat_l; lra].
    - right. field. lra. }
  rewrite ln_mult in T by lra.
  replace (w * a / (a - 1)) with (w * (a / (a - 1))) in T by (field; lra).
  assert (Hq : 0 < a / (a - 1)) by (apply Rdiv_lt_0_compat; lra).
  rewrite ln_mult in T by assumption.
  unfold factor, Rpower.
  replace (1 - 1 / a) with (/ (a / (a - 1))) by (field; lra).
  rewrite ln_Rinv by assumption.
  apply Rle_trans with (exp (ln (1 - w))); [rewrite exp_ln; lra|].
  replace (exp (a * - ln (a / (a - 1))) / (a - 1) * exp ((1 - a) * ln w))
    with (exp (- ln (a - 1)) * exp (a * - ln (a / (a - 1))) * exp ((1 - a) * ln w))
    by (rewrite exp_Ropp, exp_ln by lra; field; lra).
  rewrite <- !exp_plus. apply exp_le.
  assert (Hd : ln (a / (a - 1)) = ln a - ln (a - 1)) by (apply ln_div; lra).
  rewrite Hd in *. nra.
Qed.

(** The conversion at one point: from parts [x] and [y], what exceeds the ratio e^eps. *)
Lemma conversion a eps x y :
  1 < a -> 0 < x -> 0 < y -> x - exp eps * y <= factor a * exp (- (a - 1) * eps) * pw a x y.
Proof.
  intros Ha Hx Hy. unfold pw. destruct (Rlt_dec 0 x); [|lra].
  assert (Hw : 0 < exp eps * y / x) by (apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; [apply exp_pos | assumption] | assumption]).
  assert (T := tangent a _ Ha Hw).
  apply (Rmult_le_compat_l x) in T; [|lra].
  replace (x * (1 - exp eps * y / x)) with (x - exp eps * y) in T by (field; lra).
  apply Rle_trans with (1 := T). right.
  assert (E : Rpower (exp eps * y / x) (1 - a) = exp (- (a - 1) * eps) * Rpower y (1 - a) * (Rpower x a / x)).
  { unfold Rpower, Rdiv. rewrite !ln_mult, ln_Rinv, ln_exp;
      try assumption; try apply exp_pos; try (apply Rinv_0_lt_compat; assumption);
      try (apply Rmult_lt_0_compat; [apply exp_pos | assumption]).
    replace (/ x) with (exp (- ln x)) by (rewrite exp_Ropp, exp_ln by assumption; reflexivity).
    rewrite <- !exp_plus. f_equal. ring. }
  rewrite E. field. lra.
Qed.

Lemma pw_pos a x y : 0 <= pw a x y.
Proof. unfold pw. destruct (Rlt_dec 0 x); [|lra]. apply Rmult_le_pos; left; apply exp_pos. Qed.

Lemma pw_product a x y u v : 0 <= x -> 0 <= u -> (0 < x -> 0 < y) -> (0 < u -> 0 < v) -> pw a (x * u) (y * v) = pw a x y * pw a u v.
Proof.
  intros Hx Hu Hy Hv. unfold pw.
  destruct (Rlt_dec 0 x) as [h|h]; destruct (Rlt_dec 0 u) as [k|k].
  - destruct (Rlt_dec 0 (x * u)) as [m|m]; [|exfalso; apply m; apply Rmult_lt_0_compat; assumption].
    rewrite <- !Rpower_mult_distr by auto. ring.
  - assert (u = 0) by lra. subst. rewrite Rmult_0_r. destruct (Rlt_dec 0 0); lra.
  - assert (x = 0) by lra. subst. rewrite Rmult_0_l. destruct (Rlt_dec 0 0); lra.
  - assert (x = 0) by lra. subst. rewrite Rmult_0_l. destruct (Rlt_dec 0 0); lra.
Qed.

(** What paths may still add to the conversion's account, from parts [x] and [y] and a sum [r] of rhos: nothing once [r] is above the
    cap, for then the sum of epsilons decides. *)
Definition room (k : cap) (r x y : R) : R :=
  if Rle_dec r (cap_rho k)
  then factor (order k) * exp (- (order k - 1) * cap_eps k) * pw (order k) x y * exp (order k * (order k - 1) * (cap_rho k - r))
  else 0.

(** Products of factors, powers and exponentials are not negative. *)
Ltac not_negative :=
  repeat (apply Rmult_le_pos; [| solve [left; apply exp_pos | apply pw_pos]]); left; apply factor_pos; assumption.

Lemma room_pos k r x y : 1 < order k -> 0 <= room k r x y.
Proof.
  intro H. unfold room. destruct (Rle_dec r (cap_rho k)); [|lra].
  not_negative.
Qed.

Lemma room_ends k s x y :
  1 < order k -> holds k s -> 0 <= x -> (0 < x -> 0 < y) -> 0 <= y ->
  (match sum_eps s with Some e => x <= exp e * y | None => True end) ->
  x - exp (cap_eps k) * y <= room k (sum_rho s) x y.
Proof.
  intros Ho [_ Hs] Hx Hc Hy He.
  destruct (Rlt_dec 0 x) as [h|h].
  2: { assert (x = 0) by lra. subst. pose proof (room_pos k (sum_rho s) 0 y Ho). pose proof (exp_ge_0 (cap_eps k)). nra. }
  destruct (Rle_dec (sum_rho s) (cap_rho k)) as [g|g].
  - unfold room. destruct (Rle_dec (sum_rho s) (cap_rho k)); [|contradiction].
    apply Rle_trans with (1 := conversion (order k) (cap_eps k) x y Ho h (Hc h)).
    set (c := factor (order k) * exp (- (order k - 1) * cap_eps k) * pw (order k) x y).
    assert (0 <= c) by (unfold c; not_negative).
    assert (1 <= exp (order k * (order k - 1) * (cap_rho k - sum_rho s))).
    { rewrite <- exp_0 at 1. apply exp_le. apply Rmult_le_pos; [apply Rmult_le_pos|]; lra. }
    nra.
  - destruct Hs as [Hs|Hs]; [|contradiction].
    unfold within_eps in Hs. destruct (sum_eps s) as [e|]; [|contradiction].
    pose proof (room_pos k (sum_rho s) x y Ho).
    assert (exp e <= exp (cap_eps k)) by (apply exp_le; assumption). nra.
Qed.

(** One event divides the room among its outputs. *)
Lemma room_divides k s c p q u v x y :
  1 < order k -> event c p q u v -> 0 <= x -> (0 < x -> 0 < y) ->
  ex_series (fun n => room k (sum_rho (after s c)) (x * u n) (y * v n)) /\
  Series (fun n => room k (sum_rho (after s c)) (x * u n) (y * v n)) <= room k (sum_rho s) x y.
Proof.
  intros Ho He Hx Hy. simpl. unfold room at 1 2.
  destruct (Rle_dec (sum_rho s + sum_rho c) (cap_rho k)) as [h|h].
  - set (a := order k) in *. set (f := factor a * exp (- (a - 1) * cap_eps k)).
    set (g := exp (a * (a - 1) * (cap_rho k - (sum_rho s + sum_rho c)))).
    assert (Eq : forall n, f * pw a (x * u n) (y * v n) * g = (f * g * pw a x y) * pw a (u n) (v n)).
    { intro n. rewrite pw_product; [ring | assumption | apply (ev_u _ _ _ _ _ He n) | assumption | apply (ev_continuous _ _ _ _ _ He n)]. }
    assert (P : 0 <= f * g * pw a x y).
    { unfold f, g. not_negative. }
    split.
    + apply ex_series_ext with (fun n => (f * g * pw a x y) * pw a (u n) (v n)); [intro n; symmetry; apply Eq|].
      apply ex_scal. apply (ev_summable _ _ _ _ _ He). exact Ho.
    + rewrite (Series_ext _ (fun n => (f * g * pw a x y) * pw a (u n) (v n))) by exact Eq.
      rewrite Series_scal_l.
      apply Rle_trans with ((f * g * pw a x y) * exp (a * (a - 1) * sum_rho c)).
      * apply Rmult_le_compat_l; [exact P | apply (ev_rho _ _ _ _ _ He); exact Ho].
      * unfold room. destruct (Rle_dec (sum_rho s) (cap_rho k)) as [m|m]; [|pose proof (ev_rho_pos _ _ _ _ _ He); lra].
        right. fold a. fold f. unfold g.
        replace (a * (a - 1) * (cap_rho k - sum_rho s))
          with (a * (a - 1) * (cap_rho k - (sum_rho s + sum_rho c)) + a * (a - 1) * sum_rho c) by ring.
        rewrite exp_plus. ring.
  - split.
    + apply ex_series_ext with (fun n => 0 * p n); [intro n; apply Rmult_0_l | apply ex_scal, law_ex, (ev_p _ _ _ _ _ He)].
    + rewrite (Series_ext _ (fun _ => 0 * 0)) by (intro; ring). rewrite Series_scal_l, Rmult_0_l. apply room_pos, Ho.
Qed.

(** From any past: [a] and [b] are the probabilities of the transcript so far, [x] and [y] its parts. *)
Lemma rule_from k t :
  1 < order k -> cap_events k <= 1 -> valid t ->
  forall s a b x y S,
  holds k s -> 0 <= sum_delta s -> 0 <= x <= a -> 0 <= y <= b -> (0 < x -> 0 < y) ->
  (match sum_eps s with Some e => x <= exp e * y | None => True end) ->
  a * run one k s t S - exp (cap_eps k) * (b * run other k s t S)
    <= a - x * (1 - (cap_events k - sum_delta s)) + room k (sum_rho s) x y.
Proof.
  intros Ho H1. induction t as [|c others p q u v next IHn refused IHr]; intros Hv s a b x y S Hs Hd Hx Hy Hc He.
  - cbn [run]. assert (E := room_ends k s x y Ho Hs (proj1 Hx) Hc (proj1 Hy) He).
    assert (R := room_pos k (sum_rho s) x y Ho). destruct Hs as [Hs _]. pose proof (exp_ge_0 (cap_eps k)).
    destruct (S []); simpl; nra.
  - cbn [run]. destruct Hv as (Hev & Hnext & Href).
    destruct (admits_dec others k (after s c)) as [[_ h]|h]; [|apply IHr; assumption].
    assert (Lp := ev_p _ _ _ _ _ Hev). assert (Lq := ev_q _ _ _ _ _ Hev).
    assert (Hu := ev_u _ _ _ _ _ Hev). assert (Hw := ev_v _ _ _ _ _ Hev).
    assert (Dc := ev_delta_pos _ _ _ _ _ Hev).
    destruct (room_divides k s c p q u v x y Ho Hev (proj1 Hx) Hc) as [Xr Br].
    set (f := fun n => run one k (after s c) (next n) (fun l => S (Some n :: l))).
    set (g := fun n => run other k (after s c) (next n) (fun l => S (Some n :: l))).
    assert (Uf : unit_valued f) by (intro n; apply run_unit; [apply one_law | apply Hnext]).
    assert (Ug : unit_valued g) by (intro n; apply run_unit; [apply other_law | apply Hnext]).
    assert (Xf := ex_unit p f Lp Uf). assert (Xg := ex_unit q g Lq Ug).
    assert (Xu : ex_series u).
    { apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule)) with (b := p); [|apply law_ex, Lp].
      intro n. change (Rabs (u n) <= p n). rewrite Rabs_right; [apply Hu | apply Rle_ge, Hu]. }
    set (w := 1 - (cap_events k - (sum_delta s + sum_delta c))).
    assert (Step : Series (fun n => a * (p n * f n) - exp (cap_eps k) * (b * (q n * g n)))
      <= Series (fun n => a * p n - (x * w) * u n + room k (sum_rho (after s c)) (x * u n) (y * v n))).
    { apply Series_le_ex.
      - intro n.
        assert (I := IHn n (Hnext n) (after s c) (a * p n) (b * q n) (x * u n) (y * v n) (fun l => S (Some n :: l)) h).
        fold (f n) in I. fold (g n) in I.
        replace (a * (p n * f n) - exp (cap_eps k) * (b * (q n * g n)))
          with (a * p n * f n - exp (cap_eps k) * (b * q n * g n)) by ring.
        replace (a * p n - x * w * u n) with (a * p n - x * u n * w) by ring.
        specialize (Hu n). specialize (Hw n).
        apply I.
        + simpl. lra.
        + split; [apply Rmult_le_pos; lra | apply Rmult_le_compat; lra].
        + split; [apply Rmult_le_pos; lra | apply Rmult_le_compat; lra].
        + intro Q. destruct (Rlt_dec 0 x) as [X|X]; [|assert (x = 0) by lra; subst; lra].
          apply Rmult_lt_0_compat; [apply Hc, X | apply (ev_continuous _ _ _ _ _ Hev)].
          destruct (Rlt_dec 0 (u n)); [assumption | assert (u n = 0) by lra; nra].
        + simpl. assert (Eu := ev_eps _ _ _ _ _ Hev).
          destruct (sum_eps s) as [e|]; destruct (sum_eps c) as [e'|]; simpl; try exact I0; try exact Logic.I.
          rewrite exp_plus. specialize (Eu n).
          replace (exp e * exp e' * (y * v n)) with ((exp e * y) * (exp e' * v n)) by ring.
          apply Rmult_le_compat; lra.
      - apply ex_minus; apply ex_scal; [|apply ex_scal]; assumption.
      - apply ex_plus; [apply ex_minus; apply ex_scal; [apply law_ex, Lp | exact Xu] | exact Xr]. }
    assert (Xp := law_ex p Lp).
    assert (X1 : ex_series (fun n => a * (p n * f n))) by (apply ex_scal; exact Xf).
    assert (X2 : ex_series (fun n => exp (cap_eps k) * (b * (q n * g n)))) by (apply ex_scal, ex_scal; exact Xg).
    assert (X3 : ex_series (fun n => a * p n)) by (apply ex_scal; exact Xp).
    assert (X4 : ex_series (fun n => x * w * u n)) by (apply ex_scal; exact Xu).
    rewrite (Series_minus _ _ X1 X2), (Series_plus _ _ (ex_minus _ _ X3 X4) Xr), (Series_minus _ _ X3 X4) in Step.
    rewrite !Series_scal_l, (law_total p Lp) in Step.
    unfold one at 1, other at 1. unfold Ex. fold f g.
    assert (Hdel := ev_delta _ _ _ _ _ Hev).
    destruct h as [hd _]. simpl in hd.
    assert (W : 0 <= w) by (unfold w; lra).
    assert (Low : x * (1 - (cap_events k - sum_delta s)) <= x * w * Series u).
    { rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
      apply Rle_trans with (w * (1 - sum_delta c)); [unfold w; nra | apply Rmult_le_compat_l; assumption]. }
    lra.
Qed.

Definition nothing : sums := Sums (Some 0) 0 0.

(** The rule that the ledger runs: D <= d1 and, E <= eps or R <= r, where r is the rho that the tight conversion allows
    for (eps, d2). Whatever the analyst
    does, the transcript is (eps, d1 + d2)-close. *)
Theorem rule_that_runs k d2 t S :
  1 < order k -> 0 <= cap_eps k -> 0 <= cap_rho k -> 0 <= cap_events k <= 1 ->
  exp ((order k - 1) * (order k * cap_rho k - cap_eps k)) * factor (order k) <= d2 ->
  valid t ->
  run one k nothing t S <= exp (cap_eps k) * run other k nothing t S + (cap_events k + d2).
Proof.
  intros Ho He Hr Hd Hc Hv.
  assert (R := rule_from k t Ho (proj2 Hd) Hv nothing 1 1 1 1 S).
  assert (Hn : holds k nothing) by (unfold holds, within_eps; simpl; lra).
  assert (R' := R Hn (Rle_refl 0)).
  assert (Hroom : room k 0 1 1 <= d2).
  { unfold room. destruct (Rle_dec 0 (cap_rho k)); [|contradiction].
    unfold pw. destruct (Rlt_dec 0 1); [|lra].
    assert (P1 : forall z, Rpower 1 z = 1) by (intro z; unfold Rpower; rewrite ln_1, Rmult_0_r, exp_0; reflexivity).
    rewrite !P1. apply Rle_trans with (2 := Hc). right.
    replace ((order k - 1) * (order k * cap_rho k - cap_eps k))
      with (- (order k - 1) * cap_eps k + order k * (order k - 1) * (cap_rho k - 0)) by ring.
    rewrite exp_plus. ring. }
  simpl in R'. rewrite exp_0 in R'.
  assert (R'' := R' (conj Rle_0_1 (Rle_refl 1)) (conj Rle_0_1 (Rle_refl 1)) (fun _ => Rlt_0_1)).
  lra.
Qed.

(** Rounding costs up, as the ledger does when they enter, keeps them true. *)
Definition at_most (c d : sums) : Prop :=
  match sum_eps c, sum_eps d with Some e, Some f => e <= f | None, Some _ => False | _, None => True end
  /\ sum_rho c <= sum_rho d /\ sum_delta c <= sum_delta d.

Theorem event_raised c d p q u v : event c p q u v -> at_most c d -> event d p q u v.
Proof.
  intros [Hp Hq Hu Hv Hc Hr Hd Hdel He Hs Hrho] (E & R & D). constructor; try assumption; try lra.
  - destruct (sum_eps d) as [f|]; [|exact I]. destruct (sum_eps c) as [e|]; [|contradiction].
    intro n. apply Rle_trans with (1 := He n). apply Rmult_le_compat_r; [apply Hv | apply exp_le, E].
  - intros a Ha. apply Rle_trans with (1 := Hrho a Ha). apply exp_le. apply Rmult_le_compat_l; [|exact R].
    apply Rmult_le_pos; lra.
Qed.
