(** The samplers that run, as programs that toss coins: src/tacit/mechanisms/noise/discrete.md, table.py, enclosure.py, sampler.py.

    A law is exact if the chances of programs that may toss more and more coins tend to it. *)

From Coq Require Import Reals Lra Lia List ZArith Bool Arith.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Composition Laplace Coins.
Import ListNotations.
Open Scope R_scope.

(** * Limits *)

Definition stages (stage : nat -> bool) : Prop := forall n, exists m, (n <= m)%nat /\ stage m = true.

Lemma vanishes K eps : 0 < eps -> exists n, forall m, (n <= m)%nat -> K / 2 ^ m < eps.
Proof.
  intro H. assert (L := is_lim_seq_scal_l (fun n => (/ 2) ^ n) K 0 (is_lim_seq_geom (/ 2) ltac:(rewrite Rabs_right; lra))).
  simpl in L. rewrite Rmult_0_r in L. apply is_lim_seq_spec in L. destruct (L (mkposreal eps H)) as [n P]. exists n. intros m M.
  specialize (P m M). simpl in P. rewrite Rminus_0_r in P. apply Rabs_lt_between in P. unfold Rdiv. rewrite <- pow_inv by lra. lra.
Qed.

Lemma rises_to (f : nat -> R) stage (m K : R) :
  stages stage -> (forall n, f n <= f (S n)) -> (forall n, f n <= m) -> (forall n, stage n = true -> m <= f n + K / 2 ^ n) -> is_lim_seq f m.
Proof.
  intros Hs Hr Hu Hl. apply is_lim_seq_spec. intros [eps P]. simpl.
  destruct (vanishes K eps P) as [n0 V]. destruct (Hs n0) as (n1 & L & T). exists n1. intros n H.
  assert (M : f n1 <= f n) by (induction H; [lra | specialize (Hr m0); lra]).
  specialize (Hu n). specialize (Hl n1 T). specialize (V n1 L). apply Rabs_lt_between. lra.
Qed.

(** * An event with an exact probability: `happens` of enclosure.py *)

Definition happens_at (low high u : Z) : option bool :=
  if (u + 1 <=? low)%Z then Some true else if (high <=? u)%Z then Some false else None.

Definition happens (stage : nat -> bool) (low high : nat -> Z) (tosses : nat) : coins bool :=
  decided bool (fun n u => if stage n then happens_at (low n) (high n) u else None) tosses 0 0.

Section Happens.
Variable p c : R.
Variable stage : nat -> bool.
Variables low high : nat -> Z.
Hypothesis p_unit : 0 <= p <= 1.
Hypothesis always : stages stage.
Hypothesis encloses_p : forall n, stage n = true -> IZR (low n) <= p * 2 ^ n <= IZR (high n) /\ IZR (high n) - IZR (low n) <= c.

Let left (b : bool) := if b then 0 else p.
Let right (b : bool) := if b then p else 1.
Let verdict n u := if stage n then happens_at (low n) (high n) u else None.

Lemma happens_sure n u x : cell n u -> verdict n u = Some x -> left x * 2 ^ n <= IZR u /\ IZR u + 1 <= right x * 2 ^ n.
Proof.
  intros [C D]. unfold verdict, happens_at. destruct (stage n) eqn:S; [|discriminate]. destruct (encloses_p n S) as [E _].
  apply IZR_le in C. destruct (Z.leb_spec (u + 1) (low n)) as [H|H]; [|destruct (Z.leb_spec (high n) u) as [K|K]; [|discriminate]];
    intro F; injection F as <-; simpl.
  - apply IZR_le in H. rewrite plus_IZR in H. lra.
  - apply IZR_le in K. lra.
Qed.

Lemma happens_apart n u x y : cell n u -> verdict n u = Some x -> Bool.eqb y x = false -> right y * 2 ^ n <= IZR u \/ IZR u + 1 <= left y * 2 ^ n.
Proof. intros C V E. destruct (happens_sure n u x C V). destruct x, y; simpl in *; try discriminate; lra. Qed.

Lemma happens_unsure n u : stage n = true -> cell n u -> verdict n u = None ->
  exists t, In t [p] /\ t * 2 ^ n - (Rabs c + 1) <= IZR u /\ IZR u + 1 <= t * 2 ^ n + (Rabs c + 1).
Proof.
  intros S _. unfold verdict, happens_at. rewrite S. destruct (encloses_p n S) as [E W]. pose proof (Rle_abs c).
  destruct (Z.leb_spec (u + 1) (low n)) as [H1|H1]; [discriminate|]. destruct (Z.leb_spec (high n) u) as [K|K]; [discriminate|]. intros _.
  exists p. assert (H2 : (low n <= u)%Z) by lia. assert (K2 : (u + 1 <= high n)%Z) by lia. apply IZR_le in H2, K2. rewrite plus_IZR in K2.
  split; [left; reflexivity|]. lra.
Qed.

Lemma bool_same x y : Bool.eqb y x = true -> y = x.
Proof. apply eqb_prop. Qed.

(** It happens with exactly the probability p, *)
Theorem happens_law : is_lim_seq (fun n => chance (happens stage low high n) (Bool.eqb true)) p
  /\ is_lim_seq (fun n => chance (happens stage low high n) (Bool.eqb false)) (1 - p).
Proof.
  assert (L : forall b, is_lim_seq (fun n => chance (happens stage low high n) (Bool.eqb b)) (right b - left b)).
  { intro b. apply rises_to with (stage := stage) (K := INR 1 * (2 * (Rabs c + 1))); [exact always | | |].
    - intro n. apply decided_more.
    - intro n. assert (C : cell 0 0) by (unfold cell; simpl; split; [lia | lra]).
      assert (H := decided_at_most bool Bool.eqb verdict left right happens_sure bool_same b n 0 0 C).
      rewrite share_root in H; [exact H | |]; destruct b; simpl; lra.
    - intros n S. replace (INR 1 * (2 * (Rabs c + 1)) / 2 ^ n) with (INR (length [p]) * (2 * (Rabs c + 1) / 2 ^ n)) by (simpl; unfold Rdiv; ring).
      apply (decided_between bool Bool.eqb verdict left right happens_sure happens_apart bool_same n [p] (Rabs c + 1)).
      + pose proof (Rabs_pos c). lra.
      + intros u C V. apply happens_unsure; assumption.
      + destruct b; simpl; lra.
      + destruct b; simpl; lra. }
  split; [rewrite <- (Rminus_0_r p); exact (L true) | exact (L false)].
Qed.

(** and it ends: the chance to need more than [n] bits is at most a constant over 2^n. *)
Theorem happens_ends n : stage n = true -> 1 - 2 * (Rabs c + 1) / 2 ^ n <= chance (happens stage low high n) (fun _ => true).
Proof.
  intro S. pose proof (Rabs_pos c).
  assert (H1 := decided_finishes bool verdict n [p] (Rabs c + 1) ltac:(lra) (fun u C V => happens_unsure n u S C V)). simpl length in H1.
  simpl INR in H1. unfold happens. fold verdict. lra.
Qed.
End Happens.

(** The event of probability e^-x: the share of a tail or a wedge that is kept. *)
Theorem bernoulli_exp x c stage low high :
  0 <= x -> stages stage ->
  (forall n, stage n = true -> IZR (low n) <= exp (- x) * 2 ^ n <= IZR (high n) /\ IZR (high n) - IZR (low n) <= c) ->
  is_lim_seq (fun n => chance (happens stage low high n) (Bool.eqb true)) (exp (- x)).
Proof.
  intros Hx Hs He. apply (happens_law (exp (- x)) c stage low high); try assumption.
  split; [left; apply exp_pos|]. rewrite <- exp_0. apply exp_le. lra.
Qed.

(** * A choice by thresholds: `Table` of table.py *)

(** The number of thresholds at or below a uniform number of which the first bits are [u], if bounds of the thresholds settle it. *)
Definition chosen_at (lows highs : list Z) (u : Z) : option nat :=
  let sure := length (filter (fun h => h <? u)%Z highs) in
  let possible := length (filter (fun l => l <=? u)%Z lows) in
  if (sure =? possible)%nat then Some sure else None.

Definition choice (stage : nat -> bool) (lows highs : nat -> list Z) (tosses : nat) : coins nat :=
  decided nat (fun n u => if stage n then chosen_at (lows n) (highs n) u else None) tosses 0 0.

(** Bounds of thresholds at [n] bits, as `Table.thresholds` gives them: the upper one is a floor. *)
Fixpoint enclosed (c : R) (n : nat) (ts : list R) (ls hs : list Z) : Prop :=
  match ts, ls, hs with
  | [], [], [] => True
  | t :: ts, l :: ls, h :: hs => IZR l <= t * 2 ^ n < IZR h + 1 /\ IZR h - IZR l <= c /\ enclosed c n ts ls hs
  | _, _, _ => False
  end.

Fixpoint rising (a : R) (ts : list R) : Prop := match ts with [] => a <= 1 | t :: rest => a <= t /\ rising t rest end.

(** Between which numbers outcome [k] lies: from the threshold before it to the one after it. *)
Fixpoint ends (a : R) (ts : list R) (k : nat) : R * R :=
  match ts, k with
  | [], O => (a, 1)
  | [], S _ => (1, 1)
  | t :: _, O => (a, t)
  | t :: rest, S j => ends t rest j
  end.

Lemma ends_rise a ts k : rising a ts -> a <= fst (ends a ts k) <= snd (ends a ts k) /\ snd (ends a ts k) <= 1.
Proof.
  revert a k. induction ts as [|t ts IH]; intros a [|k]; simpl; intro H; try lra.
  - assert (R : t <= 1). { destruct H as [_ H]. clear IH. revert t H. induction ts as [|s ts I]; simpl; intros t H; [exact H|]. specialize (I s (proj2 H)). lra. }
    lra.
  - destruct H as [H K]. specialize (IH t k K). lra.
Qed.

Notation sure_of u hs := (length (filter (fun h => h <? u)%Z hs)).
Notation possible_of u ls := (length (filter (fun l => l <=? u)%Z ls)).

Lemma enclosed_counts c n ts ls hs u : enclosed c n ts ls hs -> (sure_of u hs <= possible_of u ls)%nat.
Proof.
  revert ls hs. induction ts as [|t ts IH]; intros [|l ls] [|h hs]; simpl; try tauto; [lia|].
  intros (E & _ & R). specialize (IH ls hs R). assert (D : (l < h + 1)%Z) by (apply lt_IZR; rewrite plus_IZR; lra).
  destruct (Z.ltb_spec h u); destruct (Z.leb_spec l u); simpl; lia.
Qed.

Lemma none_sure c n ts ls hs u t : enclosed c n ts ls hs -> rising t ts -> IZR u + 1 <= t * 2 ^ n -> sure_of u hs = 0%nat.
Proof.
  assert (P : 0 < 2 ^ n) by (apply pow_lt; lra).
  revert t ls hs. induction ts as [|s ts IH]; intros t [|l ls] [|h hs]; simpl; try tauto. intros (E & _ & R) (Q & S) H.
  assert (H' : IZR u + 1 <= s * 2 ^ n) by nra.
  assert (D : (u < h + 1)%Z) by (apply lt_IZR; rewrite plus_IZR; lra).
  destruct (Z.ltb_spec h u); [lia|]. apply (IH s ls hs R S H').
Qed.

Lemma position c n u ts : forall a ls hs,
  enclosed c n ts ls hs -> rising a ts -> a * 2 ^ n <= IZR u -> IZR u + 1 <= 2 ^ n -> sure_of u hs = possible_of u ls ->
  fst (ends a ts (sure_of u hs)) * 2 ^ n <= IZR u /\ IZR u + 1 <= snd (ends a ts (sure_of u hs)) * 2 ^ n
  /\ forall k, k <> sure_of u hs -> snd (ends a ts k) * 2 ^ n <= IZR u \/ IZR u + 1 <= fst (ends a ts k) * 2 ^ n.
Proof.
  assert (P : 0 < 2 ^ n) by (apply pow_lt; lra).
  induction ts as [|t ts IH]; intros a [|l ls] [|h hs]; simpl; try tauto.
  - intros _ _ H K _. split; [lra|]. split; [lra|]. intros [|k] N; simpl; [lia | lra].
  - intros (E & _ & R) (Q & S) H K C. assert (M := enclosed_counts c n ts ls hs u R).
    assert (D : (l < h + 1)%Z) by (apply lt_IZR; rewrite plus_IZR; lra).
    destruct (Z.ltb_spec h u) as [A|A]; destruct (Z.leb_spec l u) as [B|B]; simpl in C |- *; try lia.
    + assert (A' : (h + 1 <= u)%Z) by lia. apply IZR_le in A'. rewrite plus_IZR in A'.
      destruct (IH t ls hs R S ltac:(lra) K ltac:(lia)) as (I1 & I2 & I3). split; [exact I1|]. split; [exact I2|].
      intros [|k] N; simpl; [left; lra | apply I3; lia].
    + assert (B' : (u + 1 <= l)%Z) by lia. apply IZR_le in B'. rewrite plus_IZR in B'. assert (T : IZR u + 1 <= t * 2 ^ n) by lra.
      rewrite (none_sure c n ts ls hs u t R S T). split; [exact H|]. split; [exact T|].
      intros [|k] N; simpl; [lia|]. right. destruct (ends_rise t ts k S) as [W _]. nra.
Qed.

Lemma some_unsure c n u ts : forall ls hs,
  enclosed c n ts ls hs -> sure_of u hs <> possible_of u ls ->
  exists t, In t ts /\ t * 2 ^ n - (Rabs c + 1) <= IZR u /\ IZR u + 1 <= t * 2 ^ n + (Rabs c + 1).
Proof.
  pose proof (Rle_abs c). induction ts as [|t ts IH]; intros [|l ls] [|h hs]; simpl; try tauto. intros (E & W & R) C.
  destruct (Z.ltb_spec h u) as [A|A]; destruct (Z.leb_spec l u) as [B|B]; simpl in C.
  1, 2: assert (D : (l < h + 1)%Z) by (apply lt_IZR; rewrite plus_IZR; lra).
  - destruct (IH ls hs R ltac:(lia)) as (s & I & J). exists s. tauto.
  - lia.
  - exists t. apply IZR_le in A, B. split; [left; reflexivity | lra].
  - destruct (IH ls hs R ltac:(lia)) as (s & I & J). exists s. tauto.
Qed.

Section Choice.
Variable ts : list R.
Variable c : R.
Variable stage : nat -> bool.
Variables lows highs : nat -> list Z.
Hypothesis ts_rise : rising 0 ts.
Hypothesis always : stages stage.
Hypothesis encloses : forall n, stage n = true -> enclosed c n ts (lows n) (highs n).

Let left k := fst (ends 0 ts k).
Let right k := snd (ends 0 ts k).
Let verdict n u := if stage n then chosen_at (lows n) (highs n) u else None.

Lemma verdict_some n u k : verdict n u = Some k -> stage n = true /\ k = sure_of u (highs n) /\ sure_of u (highs n) = possible_of u (lows n).
Proof.
  unfold verdict, chosen_at. destruct (stage n); [|discriminate].
  destruct (Nat.eqb_spec (sure_of u (highs n)) (possible_of u (lows n))); [|discriminate]. intro F. injection F as <-. tauto.
Qed.

Lemma choice_sure n u k : cell n u -> verdict n u = Some k -> left k * 2 ^ n <= IZR u /\ IZR u + 1 <= right k * 2 ^ n.
Proof.
  intros [C D] V. destruct (verdict_some n u k V) as (S & -> & E). apply IZR_le in C.
  destruct (position c n u ts 0 _ _ (encloses n S) ts_rise ltac:(lra) D E) as (A & B & _). split; assumption.
Qed.

Lemma choice_apart n u j k : cell n u -> verdict n u = Some j -> Nat.eqb k j = false -> right k * 2 ^ n <= IZR u \/ IZR u + 1 <= left k * 2 ^ n.
Proof.
  intros [C D] V N. destruct (verdict_some n u j V) as (S & -> & E). apply IZR_le in C. apply Nat.eqb_neq in N.
  destruct (position c n u ts 0 _ _ (encloses n S) ts_rise ltac:(lra) D E) as (_ & _ & A). apply A, N.
Qed.

Lemma choice_unsure n u : stage n = true -> cell n u -> verdict n u = None ->
  exists t, In t ts /\ t * 2 ^ n - (Rabs c + 1) <= IZR u /\ IZR u + 1 <= t * 2 ^ n + (Rabs c + 1).
Proof.
  intros S _. unfold verdict, chosen_at. rewrite S.
  destruct (Nat.eqb_spec (sure_of u (highs n)) (possible_of u (lows n))) as [|N]; [discriminate|]. intros _.
  apply (some_unsure c n u ts _ _ (encloses n S) N).
Qed.

Lemma nat_same x y : Nat.eqb y x = true -> y = x.
Proof. apply Nat.eqb_eq. Qed.

Lemma choice_at_most k n : chance (choice stage lows highs n) (Nat.eqb k) <= right k - left k.
Proof.
  assert (C : cell 0 0) by (unfold cell; simpl; split; [lia | lra]). destruct (ends_rise 0 ts k ts_rise) as [U V].
  assert (H := decided_at_most nat Nat.eqb verdict left right choice_sure nat_same k n 0 0 C).
  rewrite share_root in H; [exact H | exact U | exact V].
Qed.

(** Every outcome has exactly the length between its thresholds, *)
Theorem table_law k : is_lim_seq (fun n => chance (choice stage lows highs n) (Nat.eqb k)) (right k - left k).
Proof.
  destruct (ends_rise 0 ts k ts_rise) as [U V].
  apply rises_to with (stage := stage) (K := INR (length ts) * (2 * (Rabs c + 1))); [exact always | | apply choice_at_most |].
  - intro n. apply decided_more.
  - intros n S. replace (INR (length ts) * (2 * (Rabs c + 1)) / 2 ^ n) with (INR (length ts) * (2 * (Rabs c + 1) / 2 ^ n)) by (unfold Rdiv; ring).
    apply (decided_between nat Nat.eqb verdict left right choice_sure choice_apart nat_same n ts (Rabs c + 1)); try assumption.
    + pose proof (Rabs_pos c). lra.
    + intros u C W. apply choice_unsure; assumption.
Qed.

(** and the chance to need more than [n] bits is at most the number of thresholds times a constant over 2^n. *)
Theorem table_ends n : stage n = true -> 1 - INR (length ts) * (2 * (Rabs c + 1) / 2 ^ n) <= chance (choice stage lows highs n) (fun _ => true).
Proof.
  intro S. pose proof (Rabs_pos c).
  apply (decided_finishes nat verdict n ts (Rabs c + 1)); [lra | intros u C W; apply choice_unsure; assumption].
Qed.
End Choice.
