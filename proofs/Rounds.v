(** Discrete Laplace noise as it is drawn, by blocks, wedges and tails: src/tacit/mechanisms/noise/sampler.py and discrete.md. *)

From Coq Require Import Reals Lra Lia List ZArith Bool Arith.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Laplace Coins.
Import ListNotations.
Open Scope R_scope.

(** * The sampler *)

(** Side 0 (false) holds 0, 1, 2, ...; side 1 (true) holds -1, -2, ... *)
Definition at_ (side : bool) (y : nat) : Z := if side then (-1 - Z.of_nat y)%Z else Z.of_nat y.
Definition side_of (x : Z) : bool := (x <? 0)%Z.
Definition steps (x : Z) : nat := if (x <? 0)%Z then Z.to_nat (-1 - x) else Z.to_nat x.
Definition magnitude (side : bool) (y : nat) : nat := if side then S y else y.

Lemma at_side x : at_ (side_of x) (steps x) = x.
Proof. unfold at_, side_of, steps. destruct (Z.ltb_spec x 0); lia. Qed.

Lemma at_is x s y : (x =? at_ s y)%Z = Bool.eqb (side_of x) s && (steps x =? y)%nat.
Proof.
  unfold at_, side_of, steps. destruct (Z.ltb_spec x 0); destruct s; cbn [Bool.eqb andb].
  - destruct (Z.eqb_spec x (-1 - Z.of_nat y)); destruct (Nat.eqb_spec (Z.to_nat (-1 - x)) y); try reflexivity; lia.
  - destruct (Z.eqb_spec x (Z.of_nat y)); [lia | reflexivity].
  - destruct (Z.eqb_spec x (-1 - Z.of_nat y)); [lia | reflexivity].
  - destruct (Z.eqb_spec x (Z.of_nat y)); destruct (Nat.eqb_spec (Z.to_nat x) y); try reflexivity; lia.
Qed.

Lemma magnitude_abs x : magnitude (side_of x) (steps x) = Z.abs_nat x.
Proof. unfold magnitude, side_of, steps. destruct (Z.ltb_spec x 0); lia. Qed.

Inductive part : Type :=
| Block (side : bool) (B : nat)
| Wedge (side : bool) (B : nat)
| Tail (side : bool).

Fixpoint both_sides (make : bool -> nat -> part) (n : nat) : list part :=
  match n with O => [] | S m => both_sides make m ++ [make false m; make true m] end.

(** Outcome 2 B + s is block B of side s; then the wedges, if blocks are wider than one integer; the last two are the tails. *)
Definition parts (shift blocks : nat) : list part :=
  both_sides Block blocks ++ (if (shift =? 0)%nat then [] else both_sides Wedge blocks) ++ [Tail false; Tail true].

Section Sampler.
Variables shift blocks : nat.
Let width := (2 ^ shift)%nat.
Variable table : nat -> coins nat.
Variable keep : bool -> nat -> nat -> nat -> coins bool.

(** Low bits count from the lower end of a block, which on side 1 is its far end. *)
Definition inside (s : bool) (b : nat) : nat := if s then (width - 1 - b)%nat else b.

(** One round; [next] draws anew, for a value that is rejected and for how far a value of the tail lies beyond the blocks. *)
Definition round (tosses : nat) (next : coins Z) : coins Z :=
  bind (table tosses) (fun o =>
    match nth_error (parts shift blocks) o with
    | Some (Block s B) => bind (word shift 0) (fun b => Return (at_ s (B * width + inside s b)))
    | Some (Wedge s B) =>
        bind (word shift 0) (fun b =>
          bind (keep s B (inside s b) tosses) (fun kept : bool => if kept then Return (at_ s (B * width + inside s b)) else next))
    | Some (Tail s) => bind next (fun x => Return (at_ s (blocks * width + steps x)))
    | None => Unfinished
    end).

Fixpoint sample (rounds : nat) : coins Z :=
  match rounds with O => Unfinished | S before => round rounds (sample before) end.

(** ** The weights of discrete.md, for the law r^|x| *)

Variable r : R.
Hypothesis r_unit : 0 < r < 1.

Definition top (s : bool) (B : nat) : R := r ^ magnitude s (B * width).
Definition floor (s : bool) (B : nat) : R := r ^ magnitude s (B * width + (width - 1)).
Definition share_kept (s : bool) (B b : nat) : R := (r ^ magnitude s (B * width + b) - floor s B) / (top s B - floor s B).

Definition weight (p : part) : R :=
  match p with
  | Block s B => floor s B
  | Wedge s B => top s B - floor s B
  | Tail s => r ^ magnitude s (blocks * width) / (INR width * (1 - r))
  end.

Definition lsum (g : part -> R) (l : list part) : R := fold_right (fun p s => g p + s) 0 l.
Definition whole : R := lsum weight (parts shift blocks).

Lemma width_pos : (1 <= width)%nat.
Proof. unfold width. pose proof (Nat.pow_nonzero 2 shift). lia. Qed.

Lemma width_real : 0 < INR width.
Proof. apply lt_0_INR. pose proof width_pos. lia. Qed.

Lemma pow_below a b : (a <= b)%nat -> r ^ b <= r ^ a.
Proof.
  intro H. replace b with (a + (b - a))%nat by lia. rewrite pow_add.
  assert (0 <= r ^ a) by (apply pow_le; lra).
  assert (r ^ (b - a) <= 1 ^ (b - a)) by (apply pow_incr; lra). rewrite pow1 in *. nra.
Qed.

Lemma pow_strictly a b : (a < b)%nat -> r ^ b < r ^ a.
Proof.
  intro H. apply Rle_lt_trans with (r ^ S a); [apply pow_below; lia|]. simpl.
  assert (0 < r ^ a) by (apply pow_lt; lra). nra.
Qed.

Lemma weight_pos p : 0 <= weight p.
Proof.
  assert (Q : forall n, 0 < r ^ n) by (intro; apply pow_lt; lra). pose proof width_real.
  destruct p as [s B|s B|s]; cbn [weight].
  - left. apply Q.
  - unfold top, floor. assert (r ^ magnitude s (B * width + (width - 1)) <= r ^ magnitude s (B * width)); [|lra].
    apply pow_below. destruct s; simpl; lia.
  - left. apply Rdiv_lt_0_compat; [apply Q | apply Rmult_lt_0_compat; lra].
Qed.

Lemma lsum_app g l m : lsum g (l ++ m) = lsum g l + lsum g m.
Proof. induction l as [|p l IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma whole_pos : 0 < whole.
Proof.
  unfold whole, parts. rewrite !lsum_app.
  replace (lsum weight [Tail false; Tail true]) with (weight (Tail false) + weight (Tail true)) by (unfold lsum, fold_right; ring).
  assert (N : forall l, 0 <= lsum weight l) by (induction l as [|p l IH]; simpl; [lra | pose proof (weight_pos p); lra]).
  pose proof (N (both_sides Block blocks)). pose proof (N (if (shift =? 0)%nat then [] else both_sides Wedge blocks)).
  assert (0 < weight (Tail false)); [|pose proof (weight_pos (Tail true)); lra].
  pose proof width_real. cbn [weight]. apply Rdiv_lt_0_compat; [apply pow_lt; lra | apply Rmult_lt_0_compat; lra].
Qed.

Hypothesis some_blocks : (1 <= blocks)%nat.
Hypothesis table_below : forall n, all_below (length (parts shift blocks)) (table n).
Hypothesis table_more : forall n S, chance (table n) S <= chance (table (Datatypes.S n)) S.
Hypothesis table_law : forall o p, nth_error (parts shift blocks) o = Some p ->
  is_lim_seq (fun n => chance (table n) (Nat.eqb o)) (weight p / whole).
Hypothesis keep_more : forall s B b n S, chance (keep s B b n) S <= chance (keep s B b (Datatypes.S n)) S.
Hypothesis keep_law : shift <> 0%nat -> forall s B b, (B < blocks)%nat -> (b < width)%nat ->
  is_lim_seq (fun n => chance (keep s B b n) (Bool.eqb true)) (share_kept s B b)
  /\ is_lim_seq (fun n => chance (keep s B b n) (Bool.eqb false)) (1 - share_kept s B b).

Lemma wedge_share s B b : (b < width)%nat -> (top s B - floor s B) * share_kept s B b = r ^ magnitude s (B * width + b) - floor s B.
Proof.
  intro H. unfold share_kept. destruct (Nat.eq_dec width 1) as [E|E].
  - assert (b = 0%nat) by lia. subst b. unfold top, floor. rewrite E. simpl. rewrite !Nat.add_0_r. ring.
  - assert (floor s B < top s B); [|field; lra]. pose proof width_pos.
    unfold floor, top. apply pow_strictly. destruct s; simpl; lia.
Qed.

(** ** The chance of one round, for each part *)

Definition sends (p : part) (yes no : bool -> nat -> nat -> R) (a : Z -> R) (x : Z) : R :=
  match p with
  | Block s B => rsum width (fun b => ind (x =? at_ s (B * width + b))%Z) / INR width
  | Wedge s B => rsum width (fun b => yes s B b * ind (x =? at_ s (B * width + b))%Z + no s B b * a x) / INR width
  | Tail s =>
      if Bool.eqb (side_of x) s && (blocks * width <=? steps x)%nat
      then a (at_ false (steps x - blocks * width)) + a (at_ true (steps x - blocks * width)) else 0
  end.

Definition branch (tosses : nat) (next : coins Z) (o : nat) : coins Z :=
  match nth_error (parts shift blocks) o with
  | Some (Block s B) => bind (word shift 0) (fun b => Return (at_ s (B * width + inside s b)))
  | Some (Wedge s B) =>
      bind (word shift 0) (fun b =>
        bind (keep s B (inside s b) tosses) (fun kept : bool => if kept then Return (at_ s (B * width + inside s b)) else next))
  | Some (Tail s) => bind next (fun x => Return (at_ s (blocks * width + steps x)))
  | None => Unfinished
  end.

Lemma rsum_inside s g : rsum width (fun b => g (inside s b)) = rsum width g.
Proof. destruct s; [apply rsum_reverse | reflexivity]. Qed.

Lemma branch_chance tosses next o p x : nth_error (parts shift blocks) o = Some p ->
  chance (branch tosses next o) (Z.eqb x)
    = sends p (fun s B b => chance (keep s B b tosses) (Bool.eqb true)) (fun s B b => chance (keep s B b tosses) (Bool.eqb false))
        (fun y => chance next (Z.eqb y)) x.
Proof.
  intro H. unfold branch. rewrite H. destruct p as [s B|s B|s]; cbn [sends].
  - rewrite chance_word. apply (f_equal (fun z => z / INR width)), (rsum_inside s (fun b => ind (x =? at_ s (B * width + b))%Z)).
  - rewrite chance_word. apply (f_equal (fun z => z / INR width)). etransitivity; [|apply rsum_inside].
    apply rsum_ext. intros b _. rewrite chance_bind_bool. reflexivity.
  - rewrite chance_map. set (base := (blocks * width)%nat).
    destruct (Bool.eqb (side_of x) s && (base <=? steps x)%nat) eqn:E.
    + apply andb_true_iff in E. destruct E as [E F]. apply Nat.leb_le in F.
      apply chance_sum. intro y. rewrite at_is, E. simpl andb.
      assert (Q : (steps x =? base + steps y)%nat = (steps y =? steps x - base)%nat).
      { destruct (Nat.eqb_spec (steps x) (base + steps y)); destruct (Nat.eqb_spec (steps y) (steps x - base)); try reflexivity; lia. }
      rewrite Q, (Z.eqb_sym (at_ false _) y), (Z.eqb_sym (at_ true _) y), !at_is.
      destruct (side_of y); destruct (steps y =? steps x - base)%nat; simpl; ring.
    + apply chance_none. intro y. rewrite at_is. apply andb_false_iff in E. destruct E as [E|E]; [rewrite E; reflexivity|].
      apply Nat.leb_gt in E. destruct (Nat.eqb_spec (steps x) (base + steps y)); [lia | apply andb_false_r].
Qed.

Lemma branch_more tosses next next' o S :
  (forall T, chance next T <= chance next' T) -> chance (branch tosses next o) S <= chance (branch (Datatypes.S tosses) next' o) S.
Proof.
  intro H. unfold branch. destruct (nth_error (parts shift blocks) o) as [[s B|s B|s]|]; [lra | | |lra].
  - rewrite !chance_word. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, width_real|]. apply rsum_le. intros b _.
    rewrite !chance_bind_bool. apply Rplus_le_compat; apply Rmult_le_compat; try apply chance_unit; try apply keep_more; [lra | apply H].
  - rewrite !chance_map. apply H.
Qed.

Lemma sample_more n S : chance (sample n) S <= chance (sample (Datatypes.S n)) S.
Proof.
  revert S. induction n as [|n IH]; intro S; [apply (proj1 (chance_unit (sample 1) S))|].
  change (sample (Datatypes.S (Datatypes.S n))) with (bind (table (Datatypes.S (Datatypes.S n))) (branch (Datatypes.S (Datatypes.S n)) (sample (Datatypes.S n)))).
  change (sample (Datatypes.S n)) with (bind (table (Datatypes.S n)) (branch (Datatypes.S n) (sample n))) at 1.
  rewrite !(chance_bind_nat (length (parts shift blocks))) by apply table_below.
  apply rsum_le. intros o _. apply Rmult_le_compat; try apply chance_unit; [apply table_more | apply branch_more, IH].
Qed.

(** ** The limit, and the equation that it satisfies *)

Definition limit (x : Z) : R := real (Lim_seq (fun n => chance (sample n) (Z.eqb x))).

Lemma limit_is x : is_lim_seq (fun n => chance (sample n) (Z.eqb x)) (limit x).
Proof.
  apply Lim_seq_correct'. apply ex_finite_lim_seq_incr with 1; intro n; [apply sample_more | apply chance_unit].
Qed.

Lemma limit_unit x : 0 <= limit x <= 1.
Proof.
  split.
  - apply (is_lim_seq_le (fun _ => 0) _ 0 (limit x) (fun n => proj1 (chance_unit (sample n) (Z.eqb x))) (is_lim_seq_const 0) (limit_is x)).
  - apply (is_lim_seq_le _ (fun _ => 1) (limit x) 1 (fun n => proj2 (chance_unit (sample n) (Z.eqb x))) (limit_is x) (is_lim_seq_const 1)).
Qed.

Lemma in_both make n p : In p (both_sides make n) -> exists s B, p = make s B /\ (B < n)%nat.
Proof.
  induction n; simpl; [tauto|]. intro H. apply in_app_iff in H. destruct H as [H|[<-|[<-|[]]]].
  - destruct (IHn H) as (s & B & E & L). exists s, B. split; [exact E | lia].
  - exists false, n. split; [reflexivity | lia].
  - exists true, n. split; [reflexivity | lia].
Qed.

Lemma sends_limit p x : In p (parts shift blocks) ->
  is_lim_seq (fun n => sends p (fun s B b => chance (keep s B b (S n)) (Bool.eqb true)) (fun s B b => chance (keep s B b (S n)) (Bool.eqb false))
      (fun y => chance (sample n) (Z.eqb y)) x)
    (sends p share_kept (fun s B b => 1 - share_kept s B b) limit x).
Proof.
  intro I. destruct p as [s B|s B|s]; cbn [sends].
  - apply is_lim_seq_const.
  - assert (Q : shift <> 0%nat /\ (B < blocks)%nat).
    { unfold parts in I. apply in_app_iff in I. destruct I as [I|I].
      - destruct (in_both _ _ _ I) as (? & ? & E & _). discriminate.
      - apply in_app_iff in I. destruct I as [I|[E|[E|[]]]]; try discriminate.
        destruct (Nat.eqb_spec shift 0); [contradiction|]. destruct (in_both _ _ _ I) as (? & ? & E & L). injection E as -> ->. tauto. }
    apply (is_lim_seq_scal_r _ (/ INR width) (Finite (rsum width (fun b => share_kept s B b * ind (x =? at_ s (B * width + b))%Z + (1 - share_kept s B b) * limit x)))).
    apply (rsum_lim width (fun b n => chance (keep s B b (S n)) (Bool.eqb true) * ind (x =? at_ s (B * width + b))%Z
      + chance (keep s B b (S n)) (Bool.eqb false) * chance (sample n) (Z.eqb x))).
    intros b Hb. destruct (keep_law (proj1 Q) s B b (proj2 Q) Hb) as [Y N].
    apply is_lim_seq_incr_1 in Y. apply is_lim_seq_incr_1 in N.
    apply is_lim_seq_plus'.
    + apply is_lim_seq_mult'; [exact Y | apply is_lim_seq_const].
    + apply is_lim_seq_mult'; [exact N | apply limit_is].
  - destruct (Bool.eqb (side_of x) s && (blocks * width <=? steps x)%nat); [apply is_lim_seq_plus'; apply limit_is | apply is_lim_seq_const].
Qed.

Definition sent (a : Z -> R) (x : Z) (p : part) : R := weight p * sends p share_kept (fun s B b => 1 - share_kept s B b) a x.

Lemma lsum_nth g l d : lsum g l = rsum (length l) (fun o => g (nth o l d)).
Proof.
  induction l as [|p l IH]; [reflexivity|]. change (length (p :: l)) with (1 + length l)%nat. rewrite rsum_app. simpl. rewrite IH. ring.
Qed.

Lemma lsum_both g make n : lsum g (both_sides make n) = rsum n (fun B => g (make false B) + g (make true B)).
Proof. induction n; simpl; [reflexivity|]. rewrite lsum_app, IHn. simpl. ring. Qed.

(** Blocks and wedges together; without wedges their weights are 0. *)
Lemma lsum_parts g : (shift = 0%nat -> forall s B, g (Wedge s B) = 0) ->
  lsum g (parts shift blocks) = rsum blocks (fun B => (g (Block false B) + g (Wedge false B)) + (g (Block true B) + g (Wedge true B)))
    + (g (Tail false) + g (Tail true)).
Proof.
  intro H. unfold parts. rewrite !lsum_app, lsum_both.
  assert (E : lsum g (if (shift =? 0)%nat then [] else both_sides Wedge blocks) = rsum blocks (fun B => g (Wedge false B) + g (Wedge true B))).
  { destruct (Nat.eqb_spec shift 0) as [Z|Z]; [|apply lsum_both].
    rewrite (rsum_ext blocks _ (fun _ => 0)) by (intros; rewrite !(H Z); ring). rewrite rsum_const. simpl. ring. }
  rewrite E. rewrite <- Rplus_assoc, <- rsum_plus. f_equal; [apply rsum_ext; intros; ring | simpl; ring].
Qed.

Lemma no_wedges s B : shift = 0%nat -> weight (Wedge s B) = 0.
Proof. intro E. unfold weight, top, floor, width. rewrite E. simpl. rewrite Nat.add_0_r. ring. Qed.

Lemma power_sum n : rsum n (fun m => r ^ m) = (1 - r ^ n) / (1 - r).
Proof. induction n; simpl; [field; lra|]. rewrite IHn. field. lra. Qed.

(** What all rounds reject, over the total of the weights. *)
Definition rejected : R := whole - (1 + r) / (1 - r) / INR width.

Definition tail (x : Z) : R :=
  if (blocks * width <=? steps x)%nat then r ^ magnitude (side_of x) (blocks * width) / (INR width * (1 - r)) else 0.

Lemma rejected_tops : rejected = rsum blocks (top false) + rsum blocks (top true) - (1 + r) * ((1 - r ^ (blocks * width)) / (1 - r)) / INR width.
Proof.
  pose proof width_real as P. unfold rejected, whole. rewrite lsum_parts by (intros E s B; apply no_wedges, E).
  rewrite (rsum_ext blocks _ (fun B => top false B + top true B)) by (intros; simpl; ring). rewrite rsum_plus. simpl. field. lra.
Qed.

Lemma column_sums : rsum (blocks * width) (fun m => r ^ magnitude false m) + rsum (blocks * width) (fun m => r ^ magnitude true m)
  = (1 + r) * ((1 - r ^ (blocks * width)) / (1 - r)).
Proof.
  rewrite <- power_sum. rewrite (rsum_ext _ (fun m => r ^ magnitude true m) (fun m => r * r ^ m)) by reflexivity. rewrite rsum_scal.
  change (fun m => r ^ magnitude false m) with (fun m => r ^ m).
  set (q := rsum (blocks * width) (fun m => r ^ m)). change (rsum (blocks * width) (pow r)) with q. ring.
Qed.

Lemma rejected_pos : 0 <= rejected.
Proof.
  pose proof width_real as P. rewrite rejected_tops, <- column_sums.
  assert (C : forall s, rsum (blocks * width) (fun m => r ^ magnitude s m) <= INR width * rsum blocks (top s)).
  { intro s. rewrite <- rsum_blocks, <- rsum_scal. apply rsum_le. intros B _. rewrite <- rsum_const. apply rsum_le. intros b _.
    apply pow_below. destruct s; simpl; lia. }
  pose proof (C false). pose proof (C true).
  assert (E : (rsum (blocks * width) (fun m => r ^ magnitude false m) + rsum (blocks * width) (fun m => r ^ magnitude true m)) / INR width
    <= rsum blocks (top false) + rsum blocks (top true)); [|lra].
  apply Rmult_le_reg_r with (INR width); [exact P|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma column s B a x :
  sent a x (Block s B) + sent a x (Wedge s B)
    = (rsum width (fun b => r ^ magnitude s (B * width + b) * ind (x =? at_ s (B * width + b))%Z)
        + (INR width * top s B - rsum width (fun b => r ^ magnitude s (B * width + b))) * a x) / INR width.
Proof.
  pose proof width_real as P. unfold sent, weight, sends. set (i := fun b => ind (x =? at_ s (B * width + b))%Z).
  rewrite <- (rsum_const width (top s B)). unfold Rminus. 
  replace (- rsum width (fun b => r ^ magnitude s (B * width + b))) with (rsum width (fun b => - 1 * r ^ magnitude s (B * width + b))) by (rewrite rsum_scal; ring).
  rewrite <- rsum_plus, (Rmult_comm (rsum width _) (a x)), <- rsum_scal, <- rsum_plus.
  unfold Rdiv. rewrite <- !Rmult_assoc, <- !rsum_scal, <- Rmult_plus_distr_r. f_equal. rewrite <- rsum_plus. apply rsum_ext. intros b Hb.
  fold (i b). assert (W := wedge_share s B b Hb). set (k := share_kept s B b) in *. set (t := top s B) in *. set (f := floor s B) in *.
  set (v := r ^ magnitude s (B * width + b)) in *. replace v with ((t - f) * k + f) by lra. ring.
Qed.

Lemma sent_all a x :
  lsum (sent a x) (parts shift blocks)
    = (if (steps x <? blocks * width)%nat then r ^ Z.abs_nat x / INR width else 0) + rejected * a x
      + tail x * (a (at_ false (steps x - blocks * width)) + a (at_ true (steps x - blocks * width))).
Proof.
  pose proof width_real as P.
  rewrite lsum_parts by (intros E s B; unfold sent; rewrite no_wedges by exact E; ring).
  rewrite (rsum_ext blocks _ (fun B =>
    / INR width * rsum width (fun b => r ^ magnitude false (B * width + b) * ind (x =? at_ false (B * width + b))%Z)
    + (/ INR width * rsum width (fun b => r ^ magnitude true (B * width + b) * ind (x =? at_ true (B * width + b))%Z)
    + a x * ((top false B + top true B) + - / INR width * (rsum width (fun b => r ^ magnitude false (B * width + b)) + rsum width (fun b => r ^ magnitude true (B * width + b))))))).
  2: { intros B _. rewrite !column. field. lra. }
  rewrite !rsum_plus, !rsum_scal, !rsum_plus, !rsum_scal, !rsum_plus.
  rewrite (rsum_blocks blocks width (fun m => r ^ magnitude false m * ind (x =? at_ false m)%Z)).
  rewrite (rsum_blocks blocks width (fun m => r ^ magnitude true m * ind (x =? at_ true m)%Z)).
  rewrite (rsum_blocks blocks width (fun m => r ^ magnitude false m)), (rsum_blocks blocks width (fun m => r ^ magnitude true m)).
  assert (One : forall s, rsum (blocks * width) (fun m => r ^ magnitude s m * ind (x =? at_ s m)%Z)
    = if Bool.eqb (side_of x) s && (steps x <? blocks * width)%nat then r ^ Z.abs_nat x else 0).
  { intro s. rewrite (rsum_one _ (steps x)).
    - rewrite at_is, Nat.eqb_refl, andb_true_r. destruct (Bool.eqb (side_of x) s) eqn:E; simpl.
      + apply eqb_prop in E. subst s. rewrite magnitude_abs. destruct (steps x <? blocks * width)%nat; ring.
      + destruct (steps x <? blocks * width)%nat; ring.
    - intros i N. rewrite at_is. destruct (Nat.eqb_spec (steps x) i); [congruence|]. rewrite andb_false_r. simpl. ring. }
  rewrite !One.
  assert (S0 : rsum (blocks * width) (fun m => r ^ magnitude false m) = (1 - r ^ (blocks * width)) / (1 - r)) by apply power_sum.
  assert (S1 : rsum (blocks * width) (fun m => r ^ magnitude true m) = r * ((1 - r ^ (blocks * width)) / (1 - r))).
  { rewrite <- power_sum, <- rsum_scal. apply rsum_ext. intros. reflexivity. }
  rewrite S0, S1.
  rewrite rejected_tops.
  assert (Tl : sent a x (Tail false) + sent a x (Tail true)
    = tail x * (a (at_ false (steps x - blocks * width)) + a (at_ true (steps x - blocks * width)))).
  { unfold sent, tail, weight, sends. destruct (side_of x); simpl Bool.eqb; simpl andb; destruct (blocks * width <=? steps x)%nat; ring. }
  rewrite Tl. destruct (side_of x); simpl Bool.eqb; simpl andb; destruct (steps x <? blocks * width)%nat; field; lra.
Qed.

(** Every limit of one round is a round of the limit. *)
Lemma limit_round x : limit x = lsum (sent limit x) (parts shift blocks) / whole.
Proof.
  assert (L := limit_is x). apply is_lim_seq_incr_1 in L.
  assert (M : is_lim_seq (fun n => chance (sample (S n)) (Z.eqb x)) (lsum (sent limit x) (parts shift blocks) / whole)).
  2: { apply is_lim_seq_unique in L. apply is_lim_seq_unique in M. congruence. }
  rewrite (lsum_nth _ _ (Tail false)). unfold Rdiv. rewrite Rmult_comm, <- rsum_scal.
  apply is_lim_seq_ext with (fun n => rsum (length (parts shift blocks)) (fun o => chance (table (S n)) (Nat.eqb o) * chance (branch (S n) (sample n) o) (Z.eqb x))).
  { intro n. symmetry. apply (chance_bind_nat (length (parts shift blocks)) (table (S n)) (branch (S n) (sample n))), table_below. }
  apply (rsum_lim (length (parts shift blocks)) (fun o n => chance (table (S n)) (Nat.eqb o) * chance (branch (S n) (sample n) o) (Z.eqb x))).
  intros o Ho. set (p := nth o (parts shift blocks) (Tail false)).
  assert (E : nth_error (parts shift blocks) o = Some p) by (apply nth_error_nth', Ho).
  unfold sent. fold p. replace (/ whole * (weight p * sends p share_kept (fun s B b => 1 - share_kept s B b) limit x))
    with (weight p / whole * sends p share_kept (fun s B b => 1 - share_kept s B b) limit x) by (unfold Rdiv; ring).
  assert (T := table_law o p E). apply is_lim_seq_incr_1 in T.
  apply is_lim_seq_mult'; [exact T|].
  apply is_lim_seq_ext with (2 := sends_limit p x (nth_error_In _ _ E)). intro n. symmetry. apply (branch_chance (S n) (sample n) o p x E).
Qed.

Lemma law_round x : laplace r x = lsum (sent (laplace r) x) (parts shift blocks) / whole.
Proof.
  pose proof width_real as P. pose proof whole_pos as W. rewrite sent_all. unfold rejected, tail.
  assert (E : forall m, laplace r (at_ false m) + laplace r (at_ true m) = (1 - r) * r ^ m).
  { intro m. unfold laplace, at_. rewrite Zabs2Nat.id. replace (Z.abs_nat (-1 - Z.of_nat m)) with (S m) by lia. simpl. field. lra. }
  rewrite E. set (l := laplace r x).
  assert (F : (if (steps x <? blocks * width)%nat then r ^ Z.abs_nat x / INR width else 0)
    + (if (blocks * width <=? steps x)%nat then r ^ magnitude (side_of x) (blocks * width) / (INR width * (1 - r)) else 0)
      * ((1 - r) * r ^ (steps x - blocks * width)) = (1 + r) / (1 - r) / INR width * l).
  { unfold l, laplace. destruct (Nat.ltb_spec (steps x) (blocks * width)) as [H|H];
      destruct (Nat.leb_spec (blocks * width) (steps x)) as [K|K]; try lia; [field; lra|].
    assert (D : r ^ Z.abs_nat x = r ^ magnitude (side_of x) (blocks * width) * r ^ (steps x - blocks * width)).
    { rewrite <- pow_add. f_equal. rewrite <- magnitude_abs. clear - K. unfold magnitude. set (z := side_of x). clearbody z. destruct z; lia. }
    rewrite D. field. lra. }
  apply Rmult_eq_reg_r with whole; [|lra]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (l * whole) with ((1 + r) / (1 - r) / INR width * l + (whole - (1 + r) / (1 - r) / INR width) * l) by (field; lra).
  rewrite <- F. ring.
Qed.
(** ** No other law satisfies it *)

Definition most_tail : R := r ^ (blocks * width) / (INR width * (1 - r)).
Definition shrink : R := (rejected + 2 * most_tail) / whole.

Lemma tail_most x : 0 <= tail x <= most_tail.
Proof.
  pose proof width_real. assert (Q : forall n, 0 < r ^ n) by (intro; apply pow_lt; lra). unfold tail, most_tail.
  assert (0 < INR width * (1 - r)) by (apply Rmult_lt_0_compat; lra).
  destruct (blocks * width <=? steps x)%nat.
  - split; [left; apply Rdiv_lt_0_compat; [apply Q | assumption]|]. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption|].
    apply pow_below. destruct (side_of x); simpl; lia.
  - split; [lra | left; apply Rdiv_lt_0_compat; [apply Q | assumption]].
Qed.

Lemma shrinks : 0 <= shrink < 1.
Proof.
  pose proof width_real as P. pose proof whole_pos as W. pose proof rejected_pos as Rp. destruct (tail_most 0) as [T1 T2]. unfold shrink. split.
  - apply Rdiv_le_0_compat; lra.
  - apply Rmult_lt_reg_r with whole; [exact W|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. unfold rejected, most_tail.
    assert (L : r ^ (blocks * width) <= r ^ 1) by (apply pow_below; pose proof width_pos; nia). rewrite pow_1 in L.
    assert (2 * (r ^ (blocks * width) / (INR width * (1 - r))) < (1 + r) / (1 - r) / INR width); [|lra].
    apply Rmult_lt_reg_r with (INR width * (1 - r)); [apply Rmult_lt_0_compat; lra|].
    replace (2 * (r ^ (blocks * width) / (INR width * (1 - r))) * (INR width * (1 - r))) with (2 * r ^ (blocks * width)) by (field; lra).
    replace ((1 + r) / (1 - r) / INR width * (INR width * (1 - r))) with (1 + r) by (field; lra). lra.
Qed.

Lemma laplace_unit x : 0 <= laplace r x <= 1.
Proof.
  split; [apply laplace_pos; lra|]. unfold laplace. assert (r ^ Z.abs_nat x <= 1) by (pose proof (pow_below 0 (Z.abs_nat x) ltac:(lia)); simpl in *; lra).
  assert (0 <= r ^ Z.abs_nat x) by (apply pow_le; lra).
  assert (0 <= (1 - r) / (1 + r) <= 1).
  { split; [apply Rdiv_le_0_compat; lra|]. apply Rmult_le_reg_r with (1 + r); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  nra.
Qed.

Lemma nearer n x : Rabs (limit x - laplace r x) <= shrink ^ n.
Proof.
  pose proof whole_pos as W. pose proof rejected_pos as Rp.
  revert x. induction n as [|n IH]; intro x.
  - simpl. pose proof (limit_unit x). pose proof (laplace_unit x). apply Rabs_le. lra.
  - rewrite (limit_round x), (law_round x), !sent_all.
    set (k := (steps x - blocks * width)%nat). set (d := fun y => limit y - laplace r y). destruct (tail_most x) as [T1 T2].
    replace (_ / whole - _ / whole) with ((rejected * d x + tail x * (d (at_ false k) + d (at_ true k))) / whole) by (unfold d; field; lra).
    unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ whole)) by (left; apply Rinv_0_lt_compat, W).
    change (shrink ^ S n) with ((rejected + 2 * most_tail) * / whole * shrink ^ n).
    replace ((rejected + 2 * most_tail) * / whole * shrink ^ n) with ((rejected + 2 * most_tail) * shrink ^ n * / whole) by ring.
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, W|].
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite !Rabs_mult, (Rabs_right rejected), (Rabs_right (tail x)) by lra.
    pose proof (IH x) as A. pose proof (IH (at_ false k)) as B. pose proof (IH (at_ true k)) as C. fold (d x) in A. fold (d (at_ false k)) in B. fold (d (at_ true k)) in C.
    pose proof (Rabs_triang (d (at_ false k)) (d (at_ true k))) as D. set (q := shrink ^ n) in *.
    pose proof (Rabs_pos (d x)).
    apply Rle_trans with (rejected * q + most_tail * (2 * q)); [|right; ring].
    apply Rplus_le_compat; apply Rmult_le_compat; try lra; try apply Rabs_pos.
Qed.

Lemma limit_law x : limit x = laplace r x.
Proof.
  destruct shrinks as [Q0 Q1]. assert (G := is_lim_seq_geom shrink ltac:(rewrite Rabs_right; lra)).
  assert (L := is_lim_seq_le (fun _ => Rabs (limit x - laplace r x)) _ _ 0 (fun n => nearer n x) (is_lim_seq_const _) G). simpl in L.
  pose proof (Rabs_pos (limit x - laplace r x)). assert (Z0 : Rabs (limit x - laplace r x) = 0) by lra.
  destruct (Req_dec (limit x - laplace r x) 0) as [E|E]; [lra|]. apply Rabs_no_R0 in E. contradiction.
Qed.

Lemma sample_law x : is_lim_seq (fun n => chance (sample n) (Z.eqb x)) (laplace r x).
Proof. rewrite <- limit_law. apply limit_is. Qed.

Lemma sample_ends : is_lim_seq (fun n => chance (sample n) (fun _ => true)) 1.
Proof.
  apply is_lim_seq_spec. intros [eps P]. cbn [pos].
  assert (T : is_series (fun i => laplace r (integer i)) 1) by (apply sums_to_series, laplace_total; lra).
  assert (T' : is_lim_seq (sum_n (fun i => laplace r (integer i))) 1) by exact T.
  apply is_lim_seq_spec in T'. destruct (T' (mkposreal (eps / 2) ltac:(lra))) as [M HM]. specialize (HM M (le_n M)). simpl in HM.
  rewrite sum_n_rsum in HM. apply Rabs_lt_between in HM.
  assert (L := rsum_lim (S M) (fun i n => chance (sample n) (Z.eqb (integer i))) (fun i => laplace r (integer i)) (fun i _ => sample_law (integer i))).
  apply is_lim_seq_spec in L. destruct (L (mkposreal (eps / 2) ltac:(lra))) as [n0 Hn]. exists n0. intros n H. specialize (Hn n H). cbn [pos] in Hn.
  apply Rabs_lt_between in Hn. pose proof (some_of_all (sample n) (S M)). pose proof (chance_unit (sample n) (fun _ => true)).
  apply Rabs_lt_between. lra.
Qed.

(** Folded, it is geometric: how far a value of the tail lies beyond the blocks. *)
Lemma folded_law k : is_lim_seq (fun n => chance (bind (sample n) (fun x => Return (steps x))) (Nat.eqb k)) ((1 - r) * r ^ k).
Proof.
  apply is_lim_seq_ext with (fun n => chance (sample n) (Z.eqb (at_ false k)) + chance (sample n) (Z.eqb (at_ true k))).
  - intro n. rewrite chance_map. symmetry. apply chance_sum. intro y. rewrite (Z.eqb_sym (at_ false k) y), (Z.eqb_sym (at_ true k) y), !at_is.
    rewrite (Nat.eqb_sym k). destruct (side_of y); destruct (steps y =? k)%nat; simpl; ring.
  - replace ((1 - r) * r ^ k) with (laplace r (at_ false k) + laplace r (at_ true k)); [apply is_lim_seq_plus'; apply sample_law|].
    unfold laplace, at_. rewrite Zabs2Nat.id. replace (Z.abs_nat (-1 - Z.of_nat k)) with (S k) by lia. simpl. field. lra.
Qed.
End Sampler.
