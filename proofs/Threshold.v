(** Private keys by threshold: src/tacit/mechanisms/selection.md. *)

From Coq Require Import Reals Lra Lia ZArith List Arith Bool.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Composition Laplace Stability.
Import ListNotations.
Open Scope R_scope.

(** What shows of a group with [n] units: outcome 0 is "nothing", outcome S m is the noisy count [integer m]. Without units there is no
    group, so nothing shows; with units the noisy count shows if it is at least [tau]. *)
Definition hidden (m : nat) : R := match m with O => 1 | S _ => 0 end.

Definition seen (tau : Z) (r : R) (n : Z) (m : nat) : R := if (tau <=? integer m)%Z then noisy r n m else 0.

Definition shown (tau : Z) (r : R) (n : nat) (m : nat) : R :=
  match n with
  | O => hidden m
  | S _ => match m with O => 1 - Series (seen tau r (Z.of_nat n)) | S j => seen tau r (Z.of_nat n) j end
  end.

(** A group of one unit shows with this probability. *)
Definition alone (tau : nat) (r : R) : R := r ^ (tau - 1) / (1 + r).

Lemma law_cons a (p : nat -> R) : 0 <= a -> (forall m, 0 <= p m) -> is_series p (1 - a) -> law (fun m => match m with O => a | S j => p j end).
Proof.
  intros Ha Hp Hs. split; [intros [|m]; auto|].
  apply (is_series_decr_1 (K := R_AbsRing) (V := R_NormedModule)). apply series_value with (l := 1 - a); [value|]. exact Hs.
Qed.

Lemma hidden_law : law hidden.
Proof.
  apply (law_cons 1 (fun _ => 0)); [lra | intro; lra|]. apply series_value with (l := 0); [ring|].
  apply is_series_ext with (fun n => 0 * (/ 2) ^ n); [intro n; apply Rmult_0_l|].
  apply series_value with (l := 0 * / (1 - / 2)); [ring|].
  apply (is_series_scal (K := R_AbsRing) (V := R_NormedModule) 0 (fun n => (/ 2) ^ n)). apply geometric. lra.
Qed.

Lemma seen_bounds tau r n m : 0 <= r < 1 -> 0 <= seen tau r n m <= noisy r n m.
Proof. intro H. assert (P := proj1 (noisy_law r n H) m). unfold seen. destruct (tau <=? integer m)%Z; lra. Qed.

Lemma seen_ex tau r n : 0 <= r < 1 -> ex_series (seen tau r n).
Proof.
  intro H. apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule)) with (b := noisy r n).
  - intro m. destruct (seen_bounds tau r n m H). change (Rabs (seen tau r n m) <= noisy r n m). rewrite Rabs_right by lra. assumption.
  - apply law_ex, noisy_law, H.
Qed.

Lemma seen_total tau r n : 0 <= r < 1 -> 0 <= Series (seen tau r n) <= 1.
Proof.
  intro H. split; [apply Series_pos; [intro; apply seen_bounds, H | apply seen_ex, H]|].
  rewrite <- (law_total _ (noisy_law r n H)). apply Series_le_ex; [intro; apply seen_bounds, H | apply seen_ex, H | apply law_ex, noisy_law, H].
Qed.

Lemma shown_law tau r n : 0 <= r < 1 -> law (shown tau r n).
Proof.
  intro H. destruct n as [|n]; [exact hidden_law|].
  destruct (seen_total tau r (Z.of_nat (S n)) H).
  apply (law_cons (1 - Series (seen tau r (Z.of_nat (S n)))) (seen tau r (Z.of_nat (S n)))); [lra | intro; apply seen_bounds, H|].
  apply series_value with (l := Series (seen tau r (Z.of_nat (S n)))); [ring|]. apply Series_correct, seen_ex, H.
Qed.

(** A group of one unit shows with probability p^(tau - 1) / (1 + p), *)
Theorem shown_alone tau r : 0 <= r < 1 -> (1 <= tau)%nat -> Series (seen (Z.of_nat tau) r 1) = alone tau r.
Proof.
  intros H T. apply is_series_unique. unfold seen, noisy, alone. set (c := (1 - r) / (1 + r)).
  apply (sums_to_series (fun z => if (Z.of_nat tau <=? z)%Z then laplace r (z - 1) else 0)).
  assert (G := geometric_from r c (tau - 1) H).
  exists (c * r ^ (tau - 1) / (1 - r)), 0. repeat split.
  - apply zeros_before with (k := tau).
    + intros n Hn. destruct (Z.leb_spec (Z.of_nat tau) (Z.of_nat n)); [lia | reflexivity].
    + apply is_series_ext with (2 := G). intro n. destruct (Z.leb_spec (Z.of_nat tau) (Z.of_nat (tau + n))); [|lia].
      unfold laplace. fold c. do 2 f_equal. lia.
  - apply is_series_ext with (fun n => 0 * r ^ n).
    + intro n. destruct (Z.leb_spec (Z.of_nat tau) (- Z.of_nat n - 1)); [lia | apply Rmult_0_l].
    + apply series_value with (l := 0 * / (1 - r)); [ring|]. apply (is_series_scal (K := R_AbsRing) (V := R_NormedModule) 0 (fun n => r ^ n)). apply geometric, H.
  - unfold c. field. lra.
Qed.

(** and what shows of a group is a function of its noisy count. *)
Lemma shown_close tau scale n m : 0 < scale ->
  close (IZR (Z.abs (Z.of_nat (S n) - Z.of_nat (S m))) / scale) 0 (shown tau (exp (- / scale)) (S n)) (shown tau (exp (- / scale)) (S m)).
Proof.
  intro Hs. set (r := exp (- / scale)). set (e := IZR _ / scale).
  assert (Hr : 0 <= r < 1).
  { split; [left; apply exp_pos|]. unfold r. rewrite <- exp_0. apply exp_increasing. apply Ropp_lt_gt_0_contravar, Rinv_0_lt_compat, Hs. }
  assert (C := laplace_private scale (Z.of_nat (S n)) (Z.of_nat (S m)) Hs). fold r e in C.
  assert (Lp := noisy_law r (Z.of_nat (S n)) Hr). assert (Lq := noisy_law r (Z.of_nat (S m)) Hr).
  assert (P := close_pointwise e _ _ Lp Lq C).
  apply pointwise_close; try (apply shown_law; exact Hr). intros [|j]; unfold shown; [|unfold seen].
  - assert (Hidden : forall k, 1 - Series (seen tau r k) = Pr (noisy r k) (fun x => negb (tau <=? integer x)%Z)).
    { intro k. assert (L := noisy_law r k Hr). rewrite <- (law_total _ L). unfold Pr, Ex.
      rewrite <- Series_minus; [|apply law_ex, L | apply seen_ex, Hr]. apply Series_ext. intro x. unfold seen.
      destruct (tau <=? integer x)%Z; simpl; ring. }
    rewrite !Hidden. specialize (C (fun x => negb (tau <=? integer x)%Z)). lra.
  - destruct (tau <=? integer j)%Z; [apply P | lra].
Qed.

(** * All groups together *)

(** Each pair has the units of one group in two neighbouring data sets. *)
Definition all_shown (tau : Z) (r : R) (counts : list nat) := map (shown tau r) counts.

(** What shows of the groups that both data sets have; of others nothing. *)
Definition kept_law (tau : Z) (r : R) (n m : nat) : nat -> R := match n, m with S _, S _ => shown tau r n | _, _ => hidden end.

Definition changed (pairs : list (nat * nat)) := length (filter (fun nm => negb (fst nm =? snd nm)%nat) pairs).
Definition came (pairs : list (nat * nat)) := length (filter (fun nm => ((snd nm =? 0) && negb (fst nm =? 0))%nat) pairs).
Definition went (pairs : list (nat * nat)) := length (filter (fun nm => ((fst nm =? 0) && negb (snd nm =? 0))%nat) pairs).
Definition apart_by_one (pairs : list (nat * nat)) := List.Forall (fun nm => (fst nm <= snd nm + 1 /\ snd nm <= fst nm + 1)%nat) pairs.

Section Threshold.
Variables (eps delta : R) (groups touched tau : nat).
Let scale := INR touched / eps.
Let r := exp (- / scale).
Let x := alone tau r.
Hypothesis eps_pos : 0 < eps.
Hypothesis touched_pos : (1 <= touched)%nat.
Hypothesis tau_pos : (1 <= tau)%nat.

Lemma scale_pos : 0 < scale.
Proof. apply Rdiv_lt_0_compat; [apply lt_0_INR; lia | exact eps_pos]. Qed.

Lemma ratio : 0 <= r < 1.
Proof.
  split; [left; apply exp_pos|]. unfold r. rewrite <- exp_0. apply exp_increasing, Ropp_lt_gt_0_contravar, Rinv_0_lt_compat, scale_pos.
Qed.

Lemma x_unit : 0 <= x <= 1.
Proof.
  unfold x. rewrite <- (shown_alone tau r ratio tau_pos). apply seen_total, ratio.
Qed.

Notation first pairs := (map (fun nm : nat * nat => shown (Z.of_nat tau) r (fst nm)) pairs).
Notation second pairs := (map (fun nm : nat * nat => shown (Z.of_nat tau) r (snd nm)) pairs).
Notation common_first pairs := (map (fun nm : nat * nat => kept_law (Z.of_nat tau) r (fst nm) (snd nm)) pairs).
Notation common_second pairs := (map (fun nm : nat * nat => kept_law (Z.of_nat tau) r (snd nm) (fst nm)) pairs).

Lemma kept_law_law n m : law (kept_law (Z.of_nat tau) r n m).
Proof. destruct n, m; simpl; try exact hidden_law. apply (shown_law _ _ (S n)), ratio. Qed.

Lemma Forall_laws (g : nat * nat -> nat -> R) pairs : (forall nm, law (g nm)) -> List.Forall law (map g pairs).
Proof. intro H. apply Forall_map, List.Forall_forall. auto. Qed.

Lemma Exs_first_unit pairs f : (forall l, 0 <= f l <= 1) -> 0 <= Exs (first pairs) f <= 1.
Proof. intro H. apply Exs_unit; [apply Forall_laws; intro; apply shown_law, ratio | exact H]. Qed.

Lemma Exs_common_unit pairs f : (forall l, 0 <= f l <= 1) -> 0 <= Exs (common_first pairs) f <= 1.
Proof. intro H. apply Exs_unit; [apply Forall_laws; intro; apply kept_law_law | exact H]. Qed.

Lemma Ex_hidden f : Ex hidden f = f 0%nat.
Proof.
  unfold Ex. rewrite Series_incr_1.
  - simpl. rewrite (Series_ext _ (fun n => 0 * 0)) by (intro; ring). rewrite Series_scal_l. ring.
  - apply ex_series_ext with (fun n => f 0%nat * hidden n); [intros [|n]; simpl; ring|]. apply ex_scal, law_ex, hidden_law.
Qed.

(** One unit alone: the group shows with probability x, otherwise nothing does. *)
Lemma Ex_alone f : unit_valued f -> (1 - x) * f 0%nat <= Ex (shown (Z.of_nat tau) r 1) f <= (1 - x) * f 0%nat + x.
Proof.
  intro H. set (p := shown (Z.of_nat tau) r 1). assert (L : law p) by (apply shown_law, ratio).
  assert (E := ex_unit p f L H). unfold Ex. rewrite Series_incr_1 by exact E.
  assert (P0 : p 0%nat = 1 - x) by (unfold p, shown, x; rewrite <- (shown_alone tau r ratio tau_pos); reflexivity).
  rewrite P0. assert (E1 : ex_series (fun n => p (S n))) by (apply (ex_series_incr_1 (K := R_AbsRing) (V := R_NormedModule) p), law_ex, L).
  assert (E2 : ex_series (fun n => p (S n) * f (S n))).
  { apply (ex_series_bounded (fun n => p (S n)) (fun n => f (S n)) 1); [intro; apply law_pos, L | exact E1 | intro; apply H]. }
  assert (X : Series (fun n => p (S n)) = x).
  { unfold x. rewrite <- (shown_alone tau r ratio tau_pos). reflexivity. }
  split.
  - assert (0 <= Series (fun n => p (S n) * f (S n))); [|lra]. apply Series_pos; [|exact E2].
    intro n. apply Rmult_le_pos; [apply law_pos, L | apply H].
  - assert (Series (fun n => p (S n) * f (S n)) <= x); [|lra]. rewrite <- X. apply Series_le_ex; [|exact E2 | exact E1].
    intro n. pose proof (law_pos p L (S n)). pose proof (H (S n)). nra.
Qed.

Lemma power_unit n : 0 <= (1 - x) ^ n <= 1.
Proof. pose proof x_unit. split; [apply pow_le; lra | apply Rle_trans with (1 ^ n); [apply pow_incr; lra | rewrite pow1; lra]]. Qed.

Lemma Ex_linear p g a b : law p -> unit_valued g -> 0 <= a -> 0 <= b -> Ex p (fun n => a * g n + b) = a * Ex p g + b.
Proof.
  intros L U A B. replace (a * Ex p g + b) with (a * Ex p g + Ex p (fun _ => b)) by (rewrite Ex_const by exact L; reflexivity). unfold Ex. rewrite <- Series_scal_l, <- Series_plus.
  - apply Series_ext. intro n. ring.
  - apply ex_scal, ex_unit; assumption.
  - apply (ex_series_bounded p _ b); [apply law_pos, L | apply law_ex, L | intro; lra].
Qed.

Lemma Ex_le_any p f g c : law p -> unit_valued f -> (forall n, 0 <= g n <= c) -> (forall n, f n <= g n) -> Ex p f <= Ex p g.
Proof.
  intros L U V H. unfold Ex. apply Series_le_ex.
  - intro n. apply Rmult_le_compat_l; [apply law_pos, L | apply H].
  - apply ex_unit; assumption.
  - apply (ex_series_bounded p g c); [apply law_pos, L | apply law_ex, L | exact V].
Qed.

(** If no group of this data set alone shows, what shows is what the common groups show: from above, *)
Lemma from_above pairs f : apart_by_one pairs -> (forall l, 0 <= f l <= 1) ->
  Exs (first pairs) f <= (1 - x) ^ came pairs * Exs (common_first pairs) f + (1 - (1 - x) ^ came pairs).
Proof.
  intro A. revert f. induction A as [|[n m] pairs [H1 H2] A IH]; intros f Hf; [unfold came; simpl; specialize (Hf []); lra|].
  cbn [map fst snd Exs] in *. set (b := (1 - x) ^ came pairs). pose proof (power_unit (came pairs)) as B. fold b in B, IH. pose proof x_unit as X.
  assert (Hf' : forall k l, 0 <= f (k :: l) <= 1) by (intros; apply Hf).
  assert (U1 : unit_valued (fun k => Exs (first pairs) (fun l => f (k :: l)))) by (intro; apply Exs_first_unit, Hf').
  assert (U2 : unit_valued (fun k => Exs (common_first pairs) (fun l => f (k :: l)))) by (intro; apply Exs_common_unit, Hf').
  destruct n as [|n], m as [|m]; unfold came; simpl filter; simpl length; fold (came pairs); cbn [kept_law]; cbn [fst snd] in *; fold b.
  - unfold shown. rewrite !Ex_hidden. apply IH, Hf'.
  - unfold shown. rewrite !Ex_hidden. apply IH, Hf'.
  - assert (n = 0)%nat by lia. subst n. rewrite Ex_hidden. apply Rle_trans with (1 := proj2 (Ex_alone _ U1)).
    specialize (IH (fun l => f (0%nat :: l)) (Hf' 0%nat)). cbv beta in IH |- *. simpl pow. fold b.
    apply Rle_trans with ((1 - x) * (b * Exs (common_first pairs) (fun l => f (0%nat :: l)) + (1 - b)) + x); [|right; ring].
    apply Rplus_le_compat_r, Rmult_le_compat_l; [lra | exact IH].
  - rewrite <- Ex_linear; [|apply shown_law, ratio | exact U2 | lra | lra].
    apply Ex_le_any with (c := 2); [apply shown_law, ratio | exact U1 | |].
    + intro k. specialize (U2 k). cbv beta in U2. nra.
    + intro k. apply IH, Hf'.
Qed.

(** and from below. *)
Lemma from_below pairs f : apart_by_one pairs -> (forall l, 0 <= f l <= 1) ->
  (1 - x) ^ went pairs * Exs (common_second pairs) f <= Exs (second pairs) f.
Proof.
  intro A. revert f. induction A as [|[n m] pairs [H1 H2] A IH]; intros f Hf; [unfold went; simpl; specialize (Hf []); lra|].
  cbn [map fst snd Exs] in *. set (b := (1 - x) ^ went pairs). pose proof (power_unit (went pairs)) as B. fold b in B, IH. pose proof x_unit as X.
  assert (Hf' : forall k l, 0 <= f (k :: l) <= 1) by (intros; apply Hf).
  assert (U1 : unit_valued (fun k => Exs (second pairs) (fun l => f (k :: l)))).
  { intro. apply Exs_unit; [apply Forall_laws; intro; apply shown_law, ratio | apply Hf']. }
  assert (U2 : unit_valued (fun k => Exs (common_second pairs) (fun l => f (k :: l)))).
  { intro. apply Exs_unit; [apply Forall_laws; intro; apply kept_law_law | apply Hf']. }
  destruct n as [|n], m as [|m]; unfold went; simpl filter; simpl length; fold (went pairs); cbn [kept_law]; cbn [fst snd] in *; fold b.
  - unfold shown. rewrite !Ex_hidden. apply IH, Hf'.
  - assert (m = 0)%nat by lia. subst m. rewrite Ex_hidden. apply Rle_trans with (2 := proj1 (Ex_alone _ U1)).
    specialize (IH (fun l => f (0%nat :: l)) (Hf' 0%nat)). cbv beta in IH |- *. simpl pow. fold b. rewrite Rmult_assoc.
    apply Rmult_le_compat_l; [lra | exact IH].
  - unfold shown. rewrite !Ex_hidden. apply IH, Hf'.
  - unfold Ex. rewrite <- Series_scal_l. assert (L := shown_law (Z.of_nat tau) r (S m) ratio). apply Series_le_ex.
    + intro k. specialize (IH (fun l => f (k :: l)) (Hf' k)). pose proof (law_pos _ L k) as P.
      replace (b * (shown (Z.of_nat tau) r (S m) k * Exs (common_second pairs) (fun l => f (k :: l))))
        with (shown (Z.of_nat tau) r (S m) k * (b * Exs (common_second pairs) (fun l => f (k :: l)))) by ring.
      apply Rmult_le_compat_l; assumption.
    + apply ex_scal, ex_unit; assumption.
    + apply ex_unit; assumption.
Qed.

(** The common groups: those that change do so by one unit each. *)
Lemma common_close pairs f : apart_by_one pairs -> (forall l, 0 <= f l <= 1) ->
  Exs (common_first pairs) f <= exp (INR (changed pairs) / scale) * Exs (common_second pairs) f.
Proof.
  pose proof scale_pos as SP. intro A. revert f. induction A as [|[n m] pairs [H1 H2] A IH]; intros f Hf.
  { unfold changed. simpl. unfold Rdiv. rewrite Rmult_0_l, exp_0. lra. }
  cbn [map fst snd Exs] in *.
  assert (Hf' : forall k l, 0 <= f (k :: l) <= 1) by (intros; apply Hf).
  set (e := exp (INR (changed pairs) / scale)) in *. assert (He : 0 <= e) by (left; apply exp_pos).
  set (g1 := fun k => Exs (common_first pairs) (fun l => f (k :: l))). set (g2 := fun k => Exs (common_second pairs) (fun l => f (k :: l))).
  assert (U1 : unit_valued g1) by (intro; apply Exs_common_unit, Hf').
  assert (U2 : unit_valued g2) by (intro; apply Exs_unit; [apply Forall_laws; intro; apply kept_law_law | apply Hf']).
  assert (Step : forall p q d, law p -> law q -> close d 0 p q -> exp d * e <= exp (INR (changed ((n, m) :: pairs)) / scale) ->
    Ex p g1 <= exp (INR (changed ((n, m) :: pairs)) / scale) * Ex q g2).
  { intros p q d Lp Lq C D. apply Rle_trans with (exp d * Ex q g1 + 0); [apply close_functions; assumption|].
    assert (Ex q g1 <= e * Ex q g2).
    { unfold Ex. rewrite <- Series_scal_l. apply Series_le_ex; [|apply ex_unit; assumption | apply ex_scal, ex_unit; assumption].
      intro k. specialize (IH (fun l => f (k :: l)) (Hf' k)). fold (g1 k) (g2 k) in IH. pose proof (law_pos q Lq k). nra. }
    destruct (Ex_unit q g2 Lq U2). pose proof (exp_pos d).
    apply Rle_trans with (exp d * (e * Ex q g2)); [rewrite Rplus_0_r; apply Rmult_le_compat_l; lra|].
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; assumption. }
  assert (Same : forall d, close d 0 hidden hidden -> True) by auto. clear Same.
  assert (Mono : e <= exp (INR (changed ((n, m) :: pairs)) / scale)).
  { unfold e. apply exp_le. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, SP|]. apply le_INR.
    unfold changed. simpl. destruct (negb (n =? m)%nat); simpl; lia. }
  assert (Zero : forall p, law p -> close 0 0 p p) by (intros p _ S; rewrite exp_0; lra).
  destruct n as [|n], m as [|m]; cbn [kept_law fst snd] in *.
  1, 2, 3: apply Step with (d := 0); [exact hidden_law | exact hidden_law | apply Zero, hidden_law | rewrite exp_0; lra].
  apply Step with (d := IZR (Z.abs (Z.of_nat (S n) - Z.of_nat (S m))) / scale); try (apply shown_law, ratio).
  - apply (shown_close (Z.of_nat tau) scale n m SP).
  - unfold e. rewrite <- exp_plus. apply exp_le. unfold Rdiv. rewrite <- Rmult_plus_distr_r.
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, SP|].
    replace (changed ((S n, S m) :: pairs)) with ((if (n =? m)%nat then 0 else 1) + changed pairs)%nat
      by (unfold changed; simpl; destruct (n =? m)%nat; reflexivity).
    rewrite plus_INR. apply Rplus_le_compat_r. rewrite INR_IZR_INZ. apply IZR_le. destruct (Nat.eqb_spec n m); lia.
Qed.

(** A unit that comes, goes or changes touches at most [touched] groups, of which at most [groups] are new with it and at most [groups]
    lost, where it was alone; [touched] is [groups], or twice that where units change. With noise of scale touched / epsilon on numbers of units and the
    threshold of (D), the list of what shows is (epsilon, delta)-close, whatever the keys are. *)
Theorem threshold_private pairs f :
  apart_by_one pairs -> (changed pairs <= touched)%nat -> (came pairs <= groups)%nat -> (went pairs <= groups)%nat ->
  1 - (1 - x) ^ groups <= delta -> (forall l, 0 <= f l <= 1) ->
  Exs (first pairs) f <= exp eps * Exs (second pairs) f + delta.
Proof.
  intros A C1 C2 C3 D Hf. pose proof x_unit as X.
  assert (Up := from_above pairs f A Hf). assert (Low := from_below pairs f A Hf). assert (Mid := common_close pairs f A Hf).
  assert (Powers : forall n, (n <= groups)%nat -> 1 - delta <= (1 - x) ^ n).
  { intros n H. apply Rle_trans with ((1 - x) ^ groups); [lra|].
    replace groups with (n + (groups - n))%nat by lia. rewrite pow_add.
    pose proof (power_unit n). pose proof (power_unit (groups - n)). nra. }
  assert (PB := Powers _ C2). assert (PA := Powers _ C3). pose proof (power_unit (came pairs)) as UB. pose proof (power_unit (went pairs)) as UA.
  set (B := (1 - x) ^ came pairs) in *. set (Q := (1 - x) ^ went pairs) in *.
  assert (U := Exs_common_unit pairs f Hf).
  assert (V : 0 <= Exs (common_second pairs) f <= 1).
  { apply Exs_unit; [apply Forall_laws; intro; apply kept_law_law | exact Hf]. }
  assert (E : exp (INR (changed pairs) / scale) <= exp eps).
  { apply exp_le. unfold scale. assert (T : INR (changed pairs) <= INR touched) by (apply le_INR, C1).
    assert (0 < INR touched) by (apply lt_0_INR; lia). apply Rmult_le_reg_r with (INR touched); [assumption|].
    replace (INR (changed pairs) / (INR touched / eps) * INR touched) with (eps * INR (changed pairs)) by (field; split; lra).
    apply Rmult_le_compat_l; lra. }
  assert (M : Exs (common_first pairs) f <= exp eps * Exs (common_second pairs) f) by nra.
  set (p := Exs (common_first pairs) f) in *. set (q := Exs (common_second pairs) f) in *.
  assert (G : Q * p <= exp eps * Exs (second pairs) f) by (pose proof (exp_pos eps); nra).
  nra.
Qed.
End Threshold.

(** * The counts of a table *)

Section Keys.
Variable content : Type.
Notation row := (row content).
Notation without := (without content).
Variable group : row -> nat.

Definition has (g u : nat) (table : list row) : bool := existsb (fun s => (of_unit content u s && (group s =? g))%nat) table.

(** The number of different units with a row in a group. *)
Definition units_in (g : nat) (table : list row) : nat :=
  length (nodup Nat.eq_dec (map (owner content) (filter (fun s => (group s =? g)%nat) table))).

Lemma has_In g u table : has g u table = true <-> In u (map (owner content) (filter (fun s => (group s =? g)%nat) table)).
Proof.
  unfold has. rewrite existsb_exists, in_map_iff. split.
  - intros (s & I & E). apply andb_true_iff in E. destruct E as [E F]. exists s. apply Nat.eqb_eq in E. split; [exact E | apply filter_In; tauto].
  - intros (s & E & I). apply filter_In in I. exists s. split; [tauto|]. apply andb_true_iff. split; [apply Nat.eqb_eq; exact E | tauto].
Qed.

Lemma owners_without g u table :
  map (owner content) (filter (fun s => (group s =? g)%nat) (without u table))
    = filter (fun o => negb (o =? u)%nat) (map (owner content) (filter (fun s => (group s =? g)%nat) table)).
Proof.
  induction table as [|s table IH]; [reflexivity|]. cbn [Stability.without filter map]. unfold of_unit.
  destruct (Nat.eqb_spec (owner content s) u) as [E|E]; destruct (group s =? g)%nat eqn:F; cbn [negb filter map]; rewrite ?F; cbn [map filter];
    try (destruct (Nat.eqb_spec (owner content s) u); [try contradiction | try contradiction]); cbn [negb]; rewrite <- ?IH; reflexivity.
Qed.

Lemma nodup_without u (l : list nat) :
  length (nodup Nat.eq_dec l) = (length (nodup Nat.eq_dec (filter (fun o => negb (o =? u)) l)) + if in_dec Nat.eq_dec u l then 1 else 0)%nat.
Proof.
  assert (E : nodup Nat.eq_dec (filter (fun o => negb (o =? u)%nat) l) = filter (fun o => negb (o =? u)%nat) (nodup Nat.eq_dec l)).
  { induction l as [|o l IH]; simpl; [reflexivity|].
    destruct (negb (o =? u)%nat) eqn:N; simpl.
    - destruct (in_dec Nat.eq_dec o (filter (fun o => negb (o =? u)%nat) l)) as [I|I]; destruct (in_dec Nat.eq_dec o l) as [J|J].
      + exact IH.
      + apply filter_In in I. tauto.
      + exfalso. apply I, filter_In. tauto.
      + simpl. rewrite N, IH. reflexivity.
    - destruct (in_dec Nat.eq_dec o l); simpl; [|rewrite N]; exact IH. }
  rewrite E. assert (I : In u l <-> In u (nodup Nat.eq_dec l)) by (symmetry; apply nodup_In). assert (N := NoDup_nodup Nat.eq_dec l).
  assert (G : forall m, NoDup m -> length m = (length (filter (fun o => negb (o =? u)%nat) m) + if in_dec Nat.eq_dec u m then 1 else 0)%nat).
  { clear. induction m as [|o m IH]; intro N; [reflexivity|]. inversion N; subst. specialize (IH H2). simpl.
    destruct (Nat.eqb_spec o u) as [E|E]; destruct (Nat.eq_dec o u) as [F|F]; try congruence; cbn [negb].
    - subst o. destruct (in_dec Nat.eq_dec u m); [contradiction|]. simpl in *. lia.
    - simpl. destruct (in_dec Nat.eq_dec u m); lia. }
  rewrite (G _ N). destruct (in_dec Nat.eq_dec u l); destruct (in_dec Nat.eq_dec u (nodup Nat.eq_dec l)); tauto.
Qed.

(** One unit is one in every group in which it has a row. *)
Theorem units_without g u table : units_in g table = (units_in g (without u table) + if has g u table then 1 else 0)%nat.
Proof.
  unfold units_in. rewrite owners_without, (nodup_without u). f_equal.
  destruct (in_dec Nat.eq_dec u _) as [I|I]; destruct (has g u table) eqn:E; try reflexivity.
  - apply has_In in I. congruence.
  - apply has_In in E. contradiction.
Qed.

(** The list of shown keys with their counts, of a table and of its neighbour without a unit that has rows in at most [groups] of the
    keys: (epsilon, delta)-close in both directions. *)
Theorem keys_private eps delta groups tau u keys table f :
  0 < eps -> (1 <= groups)%nat -> (1 <= tau)%nat -> 1 - (1 - alone tau (exp (- / (INR groups / eps)))) ^ groups <= delta ->
  (length (filter (fun g => has g u table) keys) <= groups)%nat -> (forall l, 0 <= f l <= 1) ->
  let shows t := map (fun g => shown (Z.of_nat tau) (exp (- / (INR groups / eps))) (units_in g t)) keys in
  Exs (shows table) f <= exp eps * Exs (shows (without u table)) f + delta
  /\ Exs (shows (without u table)) f <= exp eps * Exs (shows table) f + delta.
Proof.
  intros He Hg Ht Hd Hk Hf shows.
  set (pairs := map (fun g => (units_in g table, units_in g (without u table))) keys).
  set (swapped := map (fun g => (units_in g (without u table), units_in g table)) keys).
  assert (T : forall g, (units_in g (without u table) <= units_in g table <= units_in g (without u table) + 1)%nat).
  { intro g. rewrite (units_without g u table). destruct (has g u table); lia. }
  assert (M : forall (test : nat * nat -> bool) (h : nat -> nat * nat),
    (forall g, test (h g) = true -> has g u table = true) -> (length (filter test (map h keys)) <= groups)%nat).
  { intros test h H. apply Nat.le_trans with (2 := Hk). clear - H. induction keys as [|g l IH]; simpl; [lia|].
    specialize (H g). destruct (test (h g)); simpl; [rewrite H by reflexivity; simpl; lia | destruct (has g u table); simpl; lia]. }
  assert (D : forall g, units_in g table <> units_in g (without u table) -> has g u table = true).
  { intros g N. rewrite (units_without g u table) in N. destruct (has g u table); [reflexivity | lia]. }
  split.
  - assert (P := threshold_private eps delta groups groups tau He Hg Ht pairs f). unfold pairs in P. rewrite !map_map in P. apply P; try assumption.
    + apply Forall_map, List.Forall_forall. intros g _. specialize (T g). simpl. lia.
    + apply M. intros g H. cbn [fst snd] in H. destruct (Nat.eqb_spec (units_in g table) (units_in g (without u table))); [discriminate | apply D; assumption].
    + apply M. intros g H. cbn [fst snd] in H. apply andb_true_iff in H. destruct H as [H K]. apply D. apply Nat.eqb_eq in H. rewrite H in *.
      destruct (Nat.eqb_spec (units_in g table) 0); [discriminate | assumption].
    + apply M. intros g H. cbn [fst snd] in H. apply andb_true_iff in H. destruct H as [H K]. apply D. apply Nat.eqb_eq in H. rewrite H in *.
      destruct (Nat.eqb_spec (units_in g (without u table)) 0); [discriminate | lia].
  - assert (P := threshold_private eps delta groups groups tau He Hg Ht swapped f). unfold swapped in P. rewrite !map_map in P. apply P; try assumption.
    + apply Forall_map, List.Forall_forall. intros g _. specialize (T g). simpl. lia.
    + apply M. intros g H. cbn [fst snd] in H. destruct (Nat.eqb_spec (units_in g (without u table)) (units_in g table)); [discriminate | apply D; lia].
    + apply M. intros g H. cbn [fst snd] in H. apply andb_true_iff in H. destruct H as [H K]. apply D. apply Nat.eqb_eq in H. rewrite H in *.
      destruct (Nat.eqb_spec (units_in g (without u table)) 0); [discriminate | lia].
    + apply M. intros g H. cbn [fst snd] in H. apply andb_true_iff in H. destruct H as [H K]. apply D. apply Nat.eqb_eq in H. rewrite H in *.
      destruct (Nat.eqb_spec (units_in g table) 0); [discriminate | lia].
Qed.
End Keys.
