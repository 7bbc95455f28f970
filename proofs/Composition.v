(** Post-processing, composition, group privacy, disjoint parts: src/tacit/accounting/composition.md. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws.
Import ListNotations.
Open Scope R_scope.

Definition kernel (k : nat -> nat -> R) : Prop := forall n, law (k n).

(** The probability of a set of second outcomes, after a first outcome that chooses the second law. *)
Definition PrThen (p : nat -> R) (k : nat -> nat -> R) (S : nat -> nat -> bool) : R :=
  Ex p (fun n => Pr (k n) (S n)).

(** A function of the output, which may toss coins of its own, is as close as the output. *)
Theorem post_processing eps delta p q k S :
  law p -> law q -> kernel k -> close eps delta p q ->
  PrThen p k S <= exp eps * PrThen q k S + delta.
Proof.
  intros Hp Hq Hk Hc. apply close_functions; try assumption.
  intro n. apply Pr_unit. apply Hk.
Qed.

(** Two mechanisms, of which the second may depend on the output of the first. *)
Theorem composition e1 d1 e2 d2 p q k l S :
  law p -> law q -> kernel k -> kernel l -> 0 <= d2 ->
  close e1 d1 p q -> (forall n, close e2 d2 (k n) (l n)) ->
  PrThen p k S <= exp (e1 + e2) * PrThen q l S + (d1 + d2).
Proof.
  intros Hp Hq Hk Hl Hd Hc Hn. unfold PrThen.
  set (f := fun n => Rmin 1 (exp e2 * Pr (l n) (S n))).
  assert (Hl' : forall n, 0 <= Pr (l n) (S n) <= 1) by (intro n; apply Pr_unit, Hl).
  assert (Hf : unit_valued f).
  { intro n. unfold f. specialize (Hl' n). pose proof (exp_ge_0 e2). split; [apply Rmin_glb; nra | apply Rmin_l]. }
  assert (H1 : Ex p (fun n => Pr (k n) (S n)) <= Ex p f + d2).
  { rewrite <- (Ex_const p d2 Hp) at 1. unfold Ex. rewrite <- Series_plus.
    - apply Series_le_ex.
      + intro n. rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; [apply law_pos, Hp|].
        pose proof (Pr_unit (k n) (S n) (Hk n)). pose proof (Hn n (S n)). unfold f.
        destruct (Rle_dec 1 (exp e2 * Pr (l n) (S n))) as [h|h]; [rewrite Rmin_left | rewrite Rmin_right]; lra.
      + apply ex_unit; [exact Hp | intro n; apply Pr_unit, Hk].
      + apply ex_plus; [apply ex_unit; assumption | apply (ex_series_bounded p _ d2)];
          [apply law_pos, Hp | apply law_ex, Hp | intro; lra].
    - apply ex_unit; assumption.
    - apply (ex_series_bounded p _ d2); [apply law_pos, Hp | apply law_ex, Hp | intro; lra]. }
  assert (H2 := close_functions e1 d1 p q f Hp Hq Hc Hf).
  assert (H3 : Ex q f <= exp e2 * Ex q (fun n => Pr (l n) (S n))).
  { unfold Ex. rewrite <- Series_scal_l. apply Series_le_ex.
    - intro n. unfold f. pose proof (law_pos q Hq n).
      replace (exp e2 * (q n * Pr (l n) (S n))) with (q n * (exp e2 * Pr (l n) (S n))) by ring.
      apply Rmult_le_compat_l; [assumption | apply Rmin_r].
    - apply ex_unit; assumption.
    - apply ex_scal, ex_unit; [exact Hq | exact Hl']. }
  rewrite exp_plus. pose proof (exp_ge_0 e1).
  assert (exp e1 * Ex q f <= exp e1 * (exp e2 * Ex q (fun n => Pr (l n) (S n)))) by (apply Rmult_le_compat_l; assumption).
  lra.
Qed.

(** Neighbours of neighbours: a chain of [k] steps. *)
Fixpoint powers (eps : R) (k : nat) : R :=
  match k with O => 0 | S j => powers eps j + exp (INR j * eps) end.

Theorem group_privacy eps delta (chain : nat -> nat -> R) k :
  0 <= delta -> (forall j, law (chain j)) -> (forall j, (j < k)%nat -> close eps delta (chain j) (chain (S j))) ->
  close (INR k * eps) (delta * powers eps k) (chain 0%nat) (chain k).
Proof.
  intros Hd Hl Hc. induction k; intro E.
  - simpl. rewrite Rmult_0_l, exp_0. lra.
  - assert (IH := IHk (fun j Hj => Hc j (Nat.lt_lt_succ_r _ _ Hj)) E).
    assert (Hk := Hc k (Nat.lt_succ_diag_r k) E).
    rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus. simpl powers.
    pose proof (exp_ge_0 (INR k * eps)).
    assert (exp (INR k * eps) * Pr (chain k) E <= exp (INR k * eps) * (exp eps * Pr (chain (S k)) E + delta))
      by (apply Rmult_le_compat_l; assumption).
    lra.
Qed.

(** In closed form, as the ledger restates entries. *)
Theorem powers_closed eps k : exp eps <> 1 -> powers eps k = (exp (INR k * eps) - 1) / (exp eps - 1).
Proof.
  intro H. induction k.
  - simpl. rewrite Rmult_0_l, exp_0. field. lra.
  - simpl powers. rewrite IHk, S_INR, Rmult_plus_distr_r, Rmult_1_l, exp_plus. field. lra.
Qed.

(** * Several laws in a row *)

(** The expectation of a function of independent outcomes, one of each law. *)
Fixpoint Exs (ps : list (nat -> R)) (f : list nat -> R) : R :=
  match ps with [] => f [] | p :: rest => Ex p (fun n => Exs rest (fun l => f (n :: l))) end.

Definition Prs (ps : list (nat -> R)) (S : list nat -> bool) : R := Exs ps (fun l => ind (S l)).

Lemma Exs_unit ps f : List.Forall law ps -> (forall l, 0 <= f l <= 1) -> 0 <= Exs ps f <= 1.
Proof.
  intro H. revert f. induction H; intros f Hf; simpl; [apply Hf|].
  apply Ex_unit; [assumption | intro n; apply IHForall; intro l'; apply Hf].
Qed.

(** Independent numbers, each with noise of its own: losses add up. With noise scaled to l1 sensitivity they add up to epsilon. *)
Theorem sums_of_losses es ps qs :
  List.Forall law ps -> List.Forall law qs -> length es = length ps -> length ps = length qs ->
  (forall i, (i < length ps)%nat -> close (nth i es 0) 0 (nth i ps (fun _ => 0)) (nth i qs (fun _ => 0))) ->
  forall f, (forall l, 0 <= f l <= 1) -> Exs ps f <= exp (fold_right Rplus 0 es) * Exs qs f.
Proof.
  revert ps qs. induction es as [|e es IH]; intros ps qs Hp Hq L1 L2 Hc f Hf.
  - destruct ps; [|discriminate]. destruct qs; [|discriminate]. simpl. rewrite exp_0. lra.
  - destruct ps as [|p ps]; [discriminate|]. destruct qs as [|q qs]; [discriminate|].
    inversion Hp; subst. inversion Hq; subst. simpl in *.
    assert (Hrest : forall n, Exs ps (fun l => f (n :: l)) <= exp (fold_right Rplus 0 es) * Exs qs (fun l => f (n :: l))).
    { intro n. apply IH; try assumption; try lia.
      - intros i Hi. apply (Hc (S i)). lia.
      - intro l. apply Hf. }
    assert (Hu : unit_valued (fun n => Exs ps (fun l => f (n :: l)))) by (intro n; apply Exs_unit; [assumption | intro; apply Hf]).
    assert (Hv : unit_valued (fun n => Exs qs (fun l => f (n :: l)))) by (intro n; apply Exs_unit; [assumption | intro; apply Hf]).
    assert (Hh := close_functions e 0 p q _ H1 H3 (Hc 0%nat (Nat.lt_0_succ _)) Hu).
    assert (Ex q (fun n => Exs ps (fun l => f (n :: l))) <= exp (fold_right Rplus 0 es) * Ex q (fun n => Exs qs (fun l => f (n :: l)))).
    { unfold Ex. rewrite <- Series_scal_l. apply Series_le_ex.
      - intro n. pose proof (law_pos q H3 n). specialize (Hrest n).
        replace (exp (fold_right Rplus 0 es) * (q n * Exs qs (fun l => f (n :: l))))
          with (q n * (exp (fold_right Rplus 0 es) * Exs qs (fun l => f (n :: l)))) by ring.
        apply Rmult_le_compat_l; assumption.
      - apply ex_unit; assumption.
      - apply ex_scal, ex_unit; assumption. }
    rewrite exp_plus. pose proof (exp_ge_0 e).
    assert (exp e * Ex q (fun n => Exs ps (fun l => f (n :: l)))
      <= exp e * (exp (fold_right Rplus 0 es) * Ex q (fun n => Exs qs (fun l => f (n :: l)))))
      by (apply Rmult_le_compat_l; assumption).
    lra.
Qed.

(** Parts of the data that have no person in common: neighbours differ in one part, and the loss is that of the part. *)
Theorem disjoint_parts eps delta before p q after f :
  List.Forall law before -> law p -> law q -> List.Forall law after -> 0 <= delta -> close eps delta p q -> (forall l, 0 <= f l <= 1) ->
  0 <= eps -> Exs (before ++ p :: after) f <= exp eps * Exs (before ++ q :: after) f + delta.
Proof.
  intros Hb Hp Hq Ha Hd Hc Hf He. revert f Hf. induction Hb as [|b before Hb1 Hb IH]; intros f Hf; simpl.
  - apply close_functions; try assumption. intro n. apply Exs_unit; [assumption | intro; apply Hf].
  - assert (Hlp : List.Forall law (before ++ p :: after)) by (apply List.Forall_app; split; [assumption | constructor; assumption]).
    assert (Hlq : List.Forall law (before ++ q :: after)) by (apply List.Forall_app; split; [assumption | constructor; assumption]).
    rewrite <- (Ex_const b delta Hb1) at 1. unfold Ex. rewrite <- Series_scal_l, <- Series_plus.
    + apply Series_le_ex.
      * intro n. assert (IHn := IH (fun l => f (n :: l)) (fun l => Hf (n :: l))). pose proof (law_pos b Hb1 n).
        assert (b n * Exs (before ++ p :: after) (fun l => f (n :: l))
          <= b n * (exp eps * Exs (before ++ q :: after) (fun l => f (n :: l)) + delta)) by (apply Rmult_le_compat_l; assumption).
        lra.
      * apply ex_unit; [assumption | intro n; apply Exs_unit; [assumption | intro; apply Hf]].
      * apply ex_plus.
        -- apply ex_scal, ex_unit; [assumption | intro n; apply Exs_unit; [assumption | intro; apply Hf]].
        -- apply (ex_series_bounded b _ delta); [apply law_pos, Hb1 | apply law_ex, Hb1 | intro; lra].
    + apply ex_scal, ex_unit; [assumption | intro n; apply Exs_unit; [assumption | intro; apply Hf]].
    + apply (ex_series_bounded b _ delta); [apply law_pos, Hb1 | apply law_ex, Hb1 | intro; lra].
Qed.
