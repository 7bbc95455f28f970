(** Keeping at most k rows per unit, and what one unit moves: src/tacit/data/store.md and src/tacit/query/price/stability.md. *)

From Coq Require Import ZArith Lia List Arith Bool.
Import ListNotations.
Open Scope nat_scope.

Section Tables.
Variable content : Type.

(** A stored row: a copy that belongs to one unit. *)
Record row := Row { owner : nat; value : content }.

Definition of_unit (u : nat) (r : row) : bool := owner r =? u.

(** The neighbour without unit [u]: all its copies are gone, and nothing else. *)
Definition without (u : nat) (table : list row) : list row := filter (fun r => negb (of_unit u r)) table.

Lemma filter_filter {A} (f g : A -> bool) l : filter f (filter g l) = filter (fun x => g x && f x) l.
Proof.
  induction l as [|x l IH]; simpl; [reflexivity|].
  destruct (g x) eqn:E; simpl; [destruct (f x); rewrite IH; reflexivity | exact IH].
Qed.

Lemma filter_same {A} (f g : A -> bool) l : (forall x, In x l -> f x = g x) -> filter f l = filter g l.
Proof.
  intro H. induction l as [|x l IH]; simpl; [reflexivity|].
  rewrite (H x) by (left; reflexivity). rewrite IH by (intros; apply H; right; assumption). reflexivity.
Qed.

(** ** Rows with several owners *)

(** A row is stored once for each of its owners. *)
Definition copies (raw : list (list nat * content)) : list row :=
  flat_map (fun each => map (fun o => Row o (snd each)) (fst each)) raw.

(** The raw neighbour: the unit is no owner of any row, and rows that nobody owns now are gone. *)
Definition leaves (u : nat) (raw : list (list nat * content)) : list (list nat * content) :=
  filter (fun each => match fst each with [] => false | _ => true end)
    (map (fun each => (filter (fun o => negb (o =? u)) (fst each), snd each)) raw).

(** Its copies are the copies without those of the unit; rows that the unit shared keep the copies of the others. *)
Theorem copies_without u raw : copies (leaves u raw) = without u (copies raw).
Proof.
  unfold leaves, copies, without. induction raw as [|[os c] raw IH]; simpl; [reflexivity|]. rewrite filter_app.
  assert (E : map (fun o => Row o c) (filter (fun o => negb (o =? u)) os) = filter (fun r => negb (of_unit u r)) (map (fun o => Row o c) os)).
  { clear. induction os as [|o os IH]; simpl; [reflexivity|]. unfold of_unit at 1. simpl. destruct (o =? u); simpl; rewrite IH; reflexivity. }
  rewrite <- E. destruct (filter (fun o => negb (o =? u)) os) as [|o rest]; simpl; rewrite IH; reflexivity.
Qed.

(** ** At most k rows of a unit *)

(** A rule gives a row its rank among the rows of its unit; it may use a key, hashes, and all of these rows, but no other rows. *)
Section Order.
Variable rank : list row -> row -> nat.

Definition own (table : list row) (r : row) : list row := filter (of_unit (owner r)) table.

Definition kept (k : nat) (table : list row) : list row := filter (fun r => rank (own table r) r <? k) table.

(** No two rows of a unit have one rank. *)
Definition ranked (table : list row) : Prop := forall u, NoDup (map (rank (filter (of_unit u) table)) (filter (of_unit u) table)).

(** The rows kept of the neighbour are the rows kept, without those of [u]: for every rule and every limit. *)
Theorem kept_without k u table : kept k (without u table) = without u (kept k table).
Proof.
  unfold kept. unfold without at 2 3. rewrite !filter_filter.
  apply filter_same. intros r _. destruct (of_unit u r) eqn:E; simpl; [rewrite andb_false_r; reflexivity|].
  rewrite andb_true_r. f_equal. f_equal. unfold own, without. rewrite filter_filter. apply filter_same. intros s _. clear - E.
  unfold of_unit in *. apply Nat.eqb_neq in E. destruct (Nat.eqb_spec (owner s) (owner r)); simpl; [|destruct (negb _); reflexivity].
  destruct (Nat.eqb_spec (owner s) u); [congruence | reflexivity].
Qed.

Lemma NoDup_filter_map {A B} (f : A -> B) (g : A -> bool) l : NoDup (map f l) -> NoDup (map f (filter g l)).
Proof.
  induction l as [|x l IH]; simpl; intro H; [constructor|]. inversion H; subst.
  destruct (g x); simpl; [constructor; [|apply IH; assumption] | apply IH; assumption].
  intro I. apply H2. apply in_map_iff in I. destruct I as (y & E & J). apply filter_In in J. apply in_map_iff. exists y. tauto.
Qed.

(** Of one unit at most [k] rows are kept. *)
Theorem kept_at_most k u table : ranked table -> length (filter (of_unit u) (kept k table)) <= k.
Proof.
  intro P. set (mine := filter (of_unit u) table). set (l := filter (of_unit u) (kept k table)).
  assert (E : l = filter (fun r => rank mine r <? k) mine).
  { unfold l, kept, mine. rewrite !filter_filter. apply filter_same. intros r _.
    destruct (of_unit u r) eqn:F; [|rewrite andb_false_r; reflexivity]. rewrite andb_true_r. apply Nat.eqb_eq in F. unfold own. rewrite F. reflexivity. }
  assert (N : NoDup (map (rank mine) l)) by (rewrite E; apply NoDup_filter_map, P).
  rewrite <- (map_length (rank mine)). rewrite <- (seq_length k 0). apply NoDup_incl_length; [exact N|].
  intros n H. apply in_map_iff in H. destruct H as (r & F & H). rewrite E in H. apply filter_In in H. destruct H as [_ H].
  apply Nat.ltb_lt in H. apply in_seq. lia.
Qed.

(** * What one unit moves, over any filter that looks at one row *)

Fixpoint total (f : row -> Z) (l : list row) : Z := match l with [] => 0%Z | r :: t => (f r + total f t)%Z end.

Lemma total_without f u l : total f l = (total f (without u l) + total f (filter (of_unit u) l))%Z.
Proof. induction l as [|r l IH]; simpl; [reflexivity|]. destruct (of_unit u r); simpl; lia. Qed.

Lemma total_bounded f b l : (forall r, In r l -> Z.abs (f r) <= b)%Z -> (0 <= b)%Z -> (Z.abs (total f l) <= Z.of_nat (length l) * b)%Z.
Proof.
  intros H Hb. induction l as [|r l IH]; simpl length; simpl total; [lia|].
  assert (Z.abs (f r) <= b)%Z by (apply H; left; reflexivity).
  assert (Z.abs (total f l) <= Z.of_nat (length l) * b)%Z by (apply IH; intros; apply H; right; assumption). lia.
Qed.

Lemma of_unit_filter u (keep : row -> bool) l : length (filter (of_unit u) (filter keep l)) <= length (filter (of_unit u) l).
Proof.
  induction l as [|r l IH]; simpl; [lia|]. destruct (keep r); simpl; destruct (of_unit u r); simpl; lia.
Qed.

Lemma filter_without (keep : row -> bool) u l : filter keep (without u l) = without u (filter keep l).
Proof. unfold without. rewrite !filter_filter. apply filter_same. intros. apply andb_comm. Qed.

(** SUM of values between -b and b, after any condition on rows: one unit moves it by at most k b. *)
Theorem sum_sensitivity k u table (keep : row -> bool) (f : row -> Z) b :
  ranked table -> (0 <= b)%Z -> (forall r, Z.abs (f r) <= b)%Z ->
  (Z.abs (total f (filter keep (kept k table)) - total f (filter keep (kept k (without u table)))) <= Z.of_nat k * b)%Z.
Proof.
  intros P Hb Hf. rewrite kept_without, filter_without, (total_without f u (filter keep (kept k table))).
  set (mine := filter (of_unit u) (filter keep (kept k table))).
  match goal with |- (Z.abs ?e <= _)%Z => replace e with (total f mine) by lia end.
  assert (B := total_bounded f b mine (fun r _ => Hf r) Hb).
  assert (L : length mine <= k) by (apply Nat.le_trans with (1 := of_unit_filter u keep _); apply kept_at_most, P).
  nia.
Qed.

(** COUNT is the sum of ones. *)
Corollary count_sensitivity k u table (keep : row -> bool) :
  ranked table ->
  (Z.abs (Z.of_nat (length (filter keep (kept k table))) - Z.of_nat (length (filter keep (kept k (without u table))))) <= Z.of_nat k)%Z.
Proof.
  intro P. assert (T : forall l, total (fun _ => 1%Z) l = Z.of_nat (length l)) by (induction l; cbn [total length]; [reflexivity | rewrite IHl; lia]).
  assert (S := sum_sensitivity k u table keep (fun _ => 1%Z) 1 P ltac:(lia) ltac:(intros; lia)). rewrite !T in S. lia.
Qed.

(** GROUP BY public keys: over all groups together, in l1, one unit moves counts by at most k and sums by at most k b. *)
Section Groups.
Variable group : row -> nat.

Definition in_group (g : nat) (r : row) : bool := group r =? g.

Fixpoint over_groups (h : nat -> Z) (n : nat) : Z := match n with O => 0%Z | S m => (over_groups h m + h m)%Z end.

Lemma over_groups_le h h' n : (forall g, g < n -> (h g <= h' g)%Z) -> (over_groups h n <= over_groups h' n)%Z.
Proof. intro H. induction n; simpl; [lia|]. assert (over_groups h n <= over_groups h' n)%Z by (apply IHn; intros; apply H; lia). specialize (H n ltac:(lia)). lia. Qed.

Lemma groups_are_disjoint n l : (over_groups (fun g => Z.of_nat (length (filter (in_group g) l))) n <= Z.of_nat (length l))%Z.
Proof.
  assert (E : over_groups (fun g => Z.of_nat (length (filter (in_group g) l))) n = Z.of_nat (length (filter (fun r => group r <? n) l))).
  { induction n; simpl.
    - replace (filter (fun r => group r <? 0) l) with (@nil row); [reflexivity|].
      symmetry. induction l; simpl; auto.
    - rewrite IHn, <- Nat2Z.inj_add. f_equal. clear IHn. induction l as [|r l IH]; simpl; [reflexivity|].
      unfold in_group. destruct (Nat.ltb_spec (group r) n); destruct (Nat.eqb_spec (group r) n); destruct (Nat.ltb_spec (group r) (S n));
        simpl; fold (in_group n) in *; lia. }
  rewrite E. apply inj_le. clear. induction l as [|r l IH]; simpl; [lia|]. destruct (group r <? n); simpl; lia.
Qed.

Theorem grouped_sums k u table (keep : row -> bool) (f : row -> Z) b n :
  ranked table -> (0 <= b)%Z -> (forall r, Z.abs (f r) <= b)%Z ->
  (over_groups (fun g => Z.abs (total f (filter (in_group g) (filter keep (kept k table)))
    - total f (filter (in_group g) (filter keep (kept k (without u table)))))) n <= Z.of_nat k * b)%Z.
Proof.
  intros P Hb Hf. set (mine := filter (of_unit u) (filter keep (kept k table))).
  assert (L : length mine <= k) by (apply Nat.le_trans with (1 := of_unit_filter u keep _); apply kept_at_most, P).
  apply Z.le_trans with (over_groups (fun g => Z.of_nat (length (filter (in_group g) mine)) * b)%Z n).
  - apply over_groups_le. intros g _.
    rewrite kept_without, filter_without, filter_without.
    rewrite (total_without f u (filter (in_group g) (filter keep (kept k table)))).
    replace (filter (of_unit u) (filter (in_group g) (filter keep (kept k table)))) with (filter (in_group g) mine)
      by (unfold mine; rewrite (filter_filter (in_group g)), (filter_filter (of_unit u)); apply filter_same; intros; apply andb_comm).
    match goal with |- (Z.abs ?e <= _)%Z => replace e with (total f (filter (in_group g) mine)) by lia end.
    apply total_bounded; [intros; apply Hf | exact Hb].
  - assert (E : forall m, over_groups (fun g => Z.of_nat (length (filter (in_group g) mine)) * b)%Z m
      = (over_groups (fun g => Z.of_nat (length (filter (in_group g) mine))) m * b)%Z) by (induction m; simpl; lia).
    rewrite E. assert (D := groups_are_disjoint n mine). nia.
Qed.
End Groups.

(** COUNT(DISTINCT x): values that only this unit has. *)
Section Distinct.
Variable x : row -> nat.

Definition distinct (l : list row) : nat := length (nodup Nat.eq_dec (map x l)).

Lemma distinct_app l m : distinct l <= distinct (l ++ m) <= distinct l + length m.
Proof.
  unfold distinct. rewrite map_app. split.
  - apply NoDup_incl_length; [apply NoDup_nodup|]. intros v H. apply nodup_In in H. apply nodup_In, in_or_app. left. exact H.
  - rewrite <- (map_length x m), <- app_length. apply NoDup_incl_length; [apply NoDup_nodup|].
    intros v H. apply nodup_In, in_app_or in H. apply in_or_app. destruct H; [left; apply nodup_In | right]; assumption.
Qed.

Lemma distinct_set l m : (forall v, In v (map x l) <-> In v (map x m)) -> distinct l = distinct m.
Proof.
  intro H. unfold distinct. apply Nat.le_antisymm; apply NoDup_incl_length; try apply NoDup_nodup;
    intros v I; apply nodup_In; apply nodup_In in I; apply H; exact I.
Qed.

Theorem distinct_sensitivity k u table (keep : row -> bool) :
  ranked table ->
  distinct (filter keep (kept k (without u table))) <= distinct (filter keep (kept k table))
    <= distinct (filter keep (kept k (without u table))) + k.
Proof.
  intro P. rewrite kept_without, filter_without. set (l := filter keep (kept k table)).
  assert (L : length (filter (of_unit u) l) <= k) by (apply Nat.le_trans with (1 := of_unit_filter u keep _); apply kept_at_most, P).
  assert (E : distinct l = distinct (without u l ++ filter (of_unit u) l)).
  { apply distinct_set. intro v. rewrite map_app, in_app_iff, !in_map_iff. unfold without. split.
    - intros (r & H & I). destruct (of_unit u r) eqn:O; [right | left]; exists r; (split; [exact H|]); apply filter_In; rewrite O; auto.
    - intros [(r & H & I)|(r & H & I)]; apply filter_In in I; exists r; tauto. }
  rewrite E. destruct (distinct_app (without u l) (filter (of_unit u) l)). lia.
Qed.
End Distinct.

(** Over all groups together, in l1: a unit moves the numbers of different values by at most k. *)
Lemma distinct_step x u l :
  distinct x (without u l) <= distinct x l <= distinct x (without u l) + length (filter (of_unit u) l).
Proof.
  assert (E : distinct x l = distinct x (without u l ++ filter (of_unit u) l)).
  { apply distinct_set. intro v. rewrite map_app, in_app_iff, !in_map_iff. unfold without. split.
    - intros (r & H & I). destruct (of_unit u r) eqn:O; [right | left]; exists r; (split; [exact H|]); apply filter_In; rewrite O; auto.
    - intros [(r & H & I)|(r & H & I)]; apply filter_In in I; exists r; tauto. }
  rewrite E. destruct (distinct_app x (without u l) (filter (of_unit u) l)). lia.
Qed.

Theorem grouped_distinct group x k u table (keep : row -> bool) n :
  ranked table ->
  (over_groups (fun g => Z.abs (Z.of_nat (distinct x (filter (in_group group g) (filter keep (kept k table))))
    - Z.of_nat (distinct x (filter (in_group group g) (filter keep (kept k (without u table))))))) n <= Z.of_nat k)%Z.
Proof.
  intro P. set (mine := filter (of_unit u) (filter keep (kept k table))).
  assert (L : length mine <= k) by (apply Nat.le_trans with (1 := of_unit_filter u keep _); apply kept_at_most, P).
  apply Z.le_trans with (over_groups (fun g => Z.of_nat (length (filter (in_group group g) mine))) n).
  - apply over_groups_le. intros g _. rewrite kept_without, filter_without, filter_without.
    assert (D := distinct_step x u (filter (in_group group g) (filter keep (kept k table)))).
    replace (filter (of_unit u) (filter (in_group group g) (filter keep (kept k table)))) with (filter (in_group group g) mine) in D
      by (unfold mine; rewrite (filter_filter (in_group group g)), (filter_filter (of_unit u)); apply filter_same; intros; apply andb_comm).
    lia.
  - pose proof (groups_are_disjoint group n mine). lia.
Qed.

(** ** Where a unit changes: two tables that agree without it *)

Lemma total_within f low high l : (forall r, low <= f r <= high)%Z -> (Z.of_nat (length l) * low <= total f l <= Z.of_nat (length l) * high)%Z.
Proof. intro H. induction l as [|r l IH]; simpl length; cbn [total]; [lia|]. specialize (H r). lia. Qed.

Theorem changed_sum k u table table' (keep : row -> bool) (f : row -> Z) low high :
  ranked table -> ranked table' -> without u table = without u table' -> (low <= 0 <= high)%Z -> (forall r, low <= f r <= high)%Z ->
  (Z.abs (total f (filter keep (kept k table)) - total f (filter keep (kept k table'))) <= Z.of_nat k * (high - low))%Z.
Proof.
  intros P P' E Hz Hf.
  rewrite (total_without f u (filter keep (kept k table))), (total_without f u (filter keep (kept k table'))).
  rewrite <- !filter_without, <- !kept_without, E.
  set (mine := filter (of_unit u) (filter keep (kept k table))). set (theirs := filter (of_unit u) (filter keep (kept k table'))).
  assert (L : length mine <= k) by (apply Nat.le_trans with (1 := of_unit_filter u keep _); apply kept_at_most, P).
  assert (L' : length theirs <= k) by (apply Nat.le_trans with (1 := of_unit_filter u keep _); apply kept_at_most, P').
  pose proof (total_within f low high mine Hf). pose proof (total_within f low high theirs Hf).
  assert (-(Z.of_nat k * - low) <= total f mine <= Z.of_nat k * high)%Z by nia.
  assert (-(Z.of_nat k * - low) <= total f theirs <= Z.of_nat k * high)%Z by nia. lia.
Qed.

Lemma over_groups_plus h h' n : (over_groups (fun g => h g + h' g) n = over_groups h n + over_groups h' n)%Z.
Proof. induction n; simpl; lia. Qed.

Theorem changed_grouped_sums group k u table table' (keep : row -> bool) (f : row -> Z) b n :
  ranked table -> ranked table' -> without u table = without u table' -> (0 <= b)%Z -> (forall r, Z.abs (f r) <= b)%Z ->
  (over_groups (fun g => Z.abs (total f (filter (in_group group g) (filter keep (kept k table)))
    - total f (filter (in_group group g) (filter keep (kept k table'))))) n <= 2 * (Z.of_nat k * b))%Z.
Proof.
  intros P P' E Hb Hf. assert (S := grouped_sums group k u table keep f b n P Hb Hf). assert (S' := grouped_sums group k u table' keep f b n P' Hb Hf).
  rewrite <- E in S'. set (h := fun g => Z.abs _) in S. set (h' := fun g => Z.abs _) in S'.
  apply Z.le_trans with (over_groups (fun g => h g + h' g)%Z n); [apply over_groups_le; intros g _; unfold h, h'; lia | rewrite over_groups_plus; lia].
Qed.
End Order.

(** A keyed order: rows of a unit come in the order of a number that a key makes of each, so that the rank is the number of rows before. *)
Definition before (place : content -> Z) (rows : list row) (r : row) : nat :=
  length (filter (fun s => place (value s) <? place (value r))%Z rows).

Lemma before_increases place rows r s : In r rows -> (place (value r) < place (value s))%Z -> before place rows r < before place rows s.
Proof.
  intros Hr L. unfold before.
  assert (G : forall t, length (filter (fun x => place (value x) <? place (value r))%Z t) + length (filter (fun x => place (value x) =? place (value r))%Z t)
    <= length (filter (fun x => place (value x) <? place (value s))%Z t)).
  { induction t as [|x t IH]; simpl; [lia|].
    destruct (Z.ltb_spec (place (value x)) (place (value r))); destruct (Z.eqb_spec (place (value x)) (place (value r)));
      destruct (Z.ltb_spec (place (value x)) (place (value s))); simpl; lia. }
  specialize (G rows). assert (P : In r (filter (fun x => place (value x) =? place (value r))%Z rows)) by (apply filter_In; rewrite Z.eqb_refl; tauto).
  destruct (filter (fun x => place (value x) =? place (value r))%Z rows); [contradiction | simpl in G; lia].
Qed.

(** For every key under which no two rows of a unit have one place, the limit of [kept_at_most] holds. *)
Theorem keyed_ranks {K} (place : K -> content -> Z) key table :
  NoDup (map (fun r => (owner r, place key (value r))) table) -> ranked (before (place key)) table.
Proof.
  intros N u. set (mine := filter (of_unit u) table).
  assert (M : NoDup (map (fun r => place key (value r)) mine)).
  { assert (N' : NoDup (map (fun r => (owner r, place key (value r))) mine)) by (apply NoDup_filter_map, N).
    assert (O : forall r, In r mine -> owner r = u) by (intros r H; apply filter_In in H; unfold of_unit in H; destruct H as [_ H]; apply Nat.eqb_eq, H).
    clearbody mine. clear N. induction mine as [|r l IH]; simpl in *; [constructor|]. inversion N'; subst. constructor.
    - intro I. apply H1. apply in_map_iff in I. destruct I as (s & E & J). apply in_map_iff. exists s.
      split; [rewrite (O r), (O s) by auto; congruence | exact J].
    - apply IH; [assumption | intros; apply O; right; assumption]. }
  assert (G : forall l, incl l mine -> NoDup (map (fun r => place key (value r)) l) -> NoDup (map (before (place key) mine) l)).
  { induction l as [|r l IH]; simpl; intros I D; [constructor|]. inversion D; subst.
    constructor; [|apply IH; [intros x X; apply I; right; exact X | assumption]].
    intro J. apply in_map_iff in J. destruct J as (s & E & J).
    destruct (Z.lt_trichotomy (place key (value r)) (place key (value s))) as [L|[L|L]].
    - pose proof (before_increases (place key) mine r s (I r (or_introl eq_refl)) L). lia.
    - apply H1. apply in_map_iff. exists s. split; [congruence | exact J].
    - pose proof (before_increases (place key) mine s r (I s (or_intror J)) L). lia. }
  apply G; [intros x X; exact X | exact M].
Qed.
End Tables.

(** * Joins on the unit, and unions *)

Section Joins.
Variables A B : Type.

(** Pairs of rows of one unit that agree in whatever else is compared. *)
Definition unit_join (agree : A -> B -> bool) (l : list (row A)) (r : list (row B)) : list (row A * row B) :=
  filter (fun ab => (owner A (fst ab) =? owner B (snd ab)) && agree (value A (fst ab)) (value B (snd ab))) (list_prod l r).

Definition pair_of (u : nat) (ab : row A * row B) : bool := owner A (fst ab) =? u.

Lemma prod_length_of u (agree : A -> B -> bool) l r :
  length (filter (pair_of u) (unit_join agree l r)) <= length (filter (of_unit A u) l) * length (filter (of_unit B u) r).
Proof.
  unfold unit_join. rewrite filter_filter. induction l as [|a l IH]; simpl; [lia|].
  rewrite filter_app, app_length.
  assert (H : length (filter (fun ab => (owner A (fst ab) =? owner B (snd ab)) && agree (value A (fst ab)) (value B (snd ab)) && pair_of u ab)
    (map (fun y => (a, y)) r)) <= if of_unit A u a then length (filter (of_unit B u) r) else 0).
  { clear. unfold pair_of, of_unit. induction r as [|b r IH]; simpl; [destruct (owner A a =? u); lia|].
    destruct (Nat.eqb_spec (owner A a) u); destruct (Nat.eqb_spec (owner A a) (owner B b)); destruct (Nat.eqb_spec (owner B b) u);
      simpl; try destruct (agree (value A a) (value B b)); simpl; try lia; congruence. }
  destruct (of_unit A u a); simpl; lia.
Qed.

(** The join of the neighbours is the join without the pairs of [u], *)
Theorem join_without u agree l r :
  unit_join agree (without A u l) (without B u r) = filter (fun ab => negb (pair_of u ab)) (unit_join agree l r).
Proof.
  unfold unit_join. rewrite filter_filter.
  set (test := fun ab : row A * row B => (owner A (fst ab) =? owner B (snd ab)) && agree (value A (fst ab)) (value B (snd ab))).
  set (rest := fun ab => test ab && negb (pair_of u ab)).
  change (filter test (list_prod (without A u l) (without B u r)) = filter rest (list_prod l r)).
  assert (Gone : forall a, owner A a = u -> filter rest (map (fun y => (a, y)) r) = []).
  { intros a E. clear l. induction r as [|b r' IH]; simpl; [reflexivity|].
    unfold rest at 1, pair_of. simpl. rewrite E, Nat.eqb_refl. simpl. rewrite andb_false_r. exact IH. }
  assert (Stays : forall a, owner A a <> u ->
    filter test (map (fun y => (a, y)) (without B u r)) = filter rest (map (fun y => (a, y)) r)).
  { intros a E. clear l Gone. induction r as [|b r' IH]; simpl; [reflexivity|].
    unfold of_unit. destruct (Nat.eqb_spec (owner B b) u) as [F|F]; simpl.
    - replace (rest (a, b)) with false; [exact IH|]. unfold rest, test. simpl.
      destruct (Nat.eqb_spec (owner A a) (owner B b)); [congruence | reflexivity].
    - replace (rest (a, b)) with (test (a, b)); [destruct (test (a, b)); [f_equal|]; exact IH|].
      unfold rest, pair_of. simpl. destruct (Nat.eqb_spec (owner A a) u); [contradiction|]. symmetry. apply andb_true_r. }
  induction l as [|a l IH]; simpl; [reflexivity|].
  rewrite filter_app. unfold of_unit at 1. destruct (Nat.eqb_spec (owner A a) u) as [E|E]; simpl.
  - rewrite (Gone a E). exact IH.
  - rewrite filter_app, (Stays a E). f_equal. exact IH.
Qed.

(** and a unit with at most [k1] and [k2] rows has at most k1 k2 pairs. *)
Theorem join_rows u agree l r k1 k2 :
  length (filter (of_unit A u) l) <= k1 -> length (filter (of_unit B u) r) <= k2 -> length (filter (pair_of u) (unit_join agree l r)) <= k1 * k2.
Proof. intros H1 H2. apply Nat.le_trans with (1 := prod_length_of u agree l r). apply Nat.mul_le_mono; assumption. Qed.
End Joins.

Theorem union_rows A u (l m : list (row A)) k1 k2 :
  length (filter (of_unit A u) l) <= k1 -> length (filter (of_unit A u) m) <= k2 -> length (filter (of_unit A u) (l ++ m)) <= k1 + k2.
Proof. intros. rewrite filter_app, app_length. lia. Qed.

Theorem union_without A u (l m : list (row A)) : without A u (l ++ m) = without A u l ++ without A u m.
Proof. apply filter_app. Qed.
