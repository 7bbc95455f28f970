(** Report noisy max with public ties: src/tacit/mechanisms/noisy_max.md. *)

From Coq Require Import Reals Lra Lia ZArith List Arith Bool.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Composition Laplace.
Import ListNotations.
Open Scope R_scope.

(** * The order of summation *)

Lemma partial_below (a : nat -> R) N : (forall n, 0 <= a n) -> ex_series a -> sum_n a N <= Series a.
Proof.
  intros H X. apply (is_lim_seq_incr_compare (sum_n a) (Series a)).
  - apply Series_correct, X.
  - intro n. rewrite sum_Sn. unfold plus. simpl. specialize (H (S n)). lra.
Qed.

Lemma below_if_partial (a : nat -> R) c : ex_series a -> (forall N, sum_n a N <= c) -> Series a <= c.
Proof.
  intros X H. apply (is_lim_seq_le (sum_n a) (fun _ => c) (Series a) c H); [apply Series_correct, X | apply is_lim_seq_const].
Qed.

Section Swap.
Variables (p q : nat -> R) (f : nat -> nat -> R).
Hypotheses (Hp : law p) (Hq : law q) (Hf : forall m n, 0 <= f m n <= 1).

Lemma partial_swap N : sum_n (fun m => p m * Ex q (f m)) N = Series (fun n => q n * sum_n (fun m => p m * f m n) N)
  /\ ex_series (fun n => q n * sum_n (fun m => p m * f m n) N).
Proof.
  assert (X : forall m, ex_series (fun n => q n * f m n)) by (intro m; apply ex_unit; [exact Hq | intro; apply Hf]).
  induction N as [|N [IH XN]].
  - assert (E : forall n, q n * sum_n (fun m => p m * f m n) 0 = p 0%nat * (q n * f 0%nat n)) by (intro n; rewrite sum_O; ring).
    split.
    + rewrite sum_O. unfold Ex. rewrite <- Series_scal_l. apply Series_ext. intro n. symmetry. apply E.
    + apply ex_series_ext with (fun n => p 0%nat * (q n * f 0%nat n)); [intro n; symmetry; apply E | apply ex_scal, X].
  - assert (E : forall n, q n * sum_n (fun m => p m * f m n) (S N) = q n * sum_n (fun m => p m * f m n) N + p (S N) * (q n * f (S N) n)).
    { intro n. rewrite sum_Sn. unfold plus. simpl. ring. }
    split.
    + rewrite sum_Sn, IH. unfold plus at 1. simpl. unfold Ex. rewrite <- Series_scal_l, <- Series_plus; [|exact XN | apply ex_scal, X].
      apply Series_ext. intro n. symmetry. apply E.
    + apply ex_series_ext with (fun n => q n * sum_n (fun m => p m * f m n) N + p (S N) * (q n * f (S N) n));
        [intro n; symmetry; apply E | apply ex_plus; [exact XN | apply ex_scal, X]].
Qed.

Lemma swap_le : Ex p (fun m => Ex q (f m)) <= Ex q (fun n => Ex p (fun m => f m n)).
Proof.
  assert (U : forall m, 0 <= Ex q (f m) <= 1) by (intro m; apply Ex_unit; [exact Hq | intro; apply Hf]).
  apply below_if_partial; [apply ex_unit; assumption|].
  intro N. destruct (partial_swap N) as [E X]. rewrite E. apply Series_le_ex; [|exact X|].
  - intro n. apply Rmult_le_compat_l; [apply law_pos, Hq|]. apply partial_below.
    + intro m. apply Rmult_le_pos; [apply law_pos, Hp | apply Hf].
    + apply ex_unit; [exact Hp | intro; apply Hf].
  - apply ex_unit; [exact Hq | intro n; apply Ex_unit; [exact Hp | intro; apply Hf]].
Qed.
End Swap.

Theorem swap p q f :
  law p -> law q -> (forall m n, 0 <= f m n <= 1) -> Ex p (fun m => Ex q (f m)) = Ex q (fun n => Ex p (fun m => f m n)).
Proof.
  intros Hp Hq Hf. apply Rle_antisym; [exact (swap_le p q f Hp Hq Hf)|].
  exact (swap_le q p (fun n m => f m n) Hq Hp (fun n m => Hf m n)).
Qed.

Lemma Exs_ext ps f g : (forall l, length l = length ps -> f l = g l) -> Exs ps f = Exs ps g.
Proof.
  revert f g. induction ps as [|p ps IH]; intros f g H; simpl; [apply H; reflexivity|].
  apply Ex_ext. intro n. apply IH. intros l Hl. apply H. simpl. lia.
Qed.

Lemma Exs_app ps qs f : Exs (ps ++ qs) f = Exs ps (fun a => Exs qs (fun b => f (a ++ b))).
Proof. revert f. induction ps as [|p ps IH]; intro f; simpl; [reflexivity|]. apply Ex_ext. intro n. apply IH. Qed.

Lemma Exs_swap p qs f :
  law p -> List.Forall law qs -> (forall n l, 0 <= f n l <= 1) ->
  Ex p (fun n => Exs qs (f n)) = Exs qs (fun l => Ex p (fun n => f n l)).
Proof.
  intros Hp Hq. revert f. induction Hq as [|q qs Hq1 Hq IH]; intros f Hf; simpl; [reflexivity|].
  rewrite swap; [|assumption|assumption|intros; apply Exs_unit; auto].
  apply Ex_ext. intro n. apply (IH (fun m l => f m (n :: l))). intros. apply Hf.
Qed.

Lemma Exs_le ps f g : List.Forall law ps -> (forall l, 0 <= f l <= 1) -> (forall l, 0 <= g l <= 1) -> forall c, 0 <= c ->
  (forall l, length l = length ps -> f l <= c * g l) -> Exs ps f <= c * Exs ps g.
Proof.
  intros Hp. revert f g. induction Hp as [|p ps Hp1 Hp IH]; intros f g Hf Hg c Hc H; simpl; [apply H; reflexivity|].
  unfold Ex. rewrite <- Series_scal_l. apply Series_le_ex.
  - intro n. replace (c * (p n * Exs ps (fun l => g (n :: l)))) with (p n * (c * Exs ps (fun l => g (n :: l)))) by ring.
    apply Rmult_le_compat_l; [apply law_pos, Hp1|]. apply IH; auto. intros l Hl. apply H. simpl. lia.
  - apply ex_unit; [assumption | intro; apply Exs_unit; auto].
  - apply ex_scal, ex_unit; [assumption | intro; apply Exs_unit; auto].
Qed.

(** * Moving the noise of one number *)

Lemma dominated_sum r (h : Z -> R) : 0 <= r < 1 -> (forall z, 0 <= h z <= laplace r z) -> exists l, sums_to h l.
Proof.
  intros Hr Hh. destruct (laplace_total r Hr) as (up & down & Hu & Hd & _).
  assert (X : forall t : nat -> Z, ex_series (fun n => laplace r (t n)) -> ex_series (fun n => h (t n))).
  { intros t T. apply (ex_series_le (K := R_AbsRing) (V := R_CompleteNormedModule)) with (b := fun n => laplace r (t n)); [|exact T].
    intro n. change (Rabs (h (t n)) <= laplace r (t n)). destruct (Hh (t n)). rewrite Rabs_right; lra. }
  destruct (X Z.of_nat (ex_intro _ up Hu)) as [a Ha].
  destruct (X (fun n => (- Z.of_nat n - 1)%Z) (ex_intro _ down Hd)) as [b Hb].
  exists (a + b), a, b. auto.
Qed.

Lemma noisy_shift r d (g : Z -> R) :
  0 <= r < 1 -> (forall z, 0 <= g z <= 1) -> Ex (noisy r 0) (fun n => g (integer n + d)%Z) = Ex (noisy r d) (fun n => g (integer n)).
Proof.
  intros Hr Hg. set (h := fun z => laplace r z * g (z + d)%Z).
  destruct (dominated_sum r h Hr) as [l Hl].
  { intro z. unfold h. pose proof (laplace_pos r z Hr). specialize (Hg (z + d)%Z). nra. }
  unfold Ex. transitivity l.
  - apply is_series_unique. apply is_series_ext with (2 := sums_to_series _ _ Hl). intro n. unfold h, noisy. rewrite Z.sub_0_r. reflexivity.
  - symmetry. apply is_series_unique. apply is_series_ext with (2 := sums_to_series _ _ (shift h l d Hl)).
    intro n. unfold h, noisy. do 2 f_equal. lia.
Qed.

Lemma moved_noise scale d (W V : Z -> bool) :
  0 < scale -> (forall z, W z = true -> V (z + d)%Z = true) ->
  Ex (noisy (exp (- / scale)) 0) (fun n => ind (W (integer n)))
    <= exp (IZR (Z.abs d) / scale) * Ex (noisy (exp (- / scale)) 0) (fun n => ind (V (integer n))).
Proof.
  intros Hs H. set (r := exp (- / scale)).
  assert (Hr : 0 <= r < 1).
  { split; [left; apply exp_pos|]. unfold r. rewrite <- exp_0. apply exp_increasing. apply Ropp_lt_gt_0_contravar, Rinv_0_lt_compat, Hs. }
  apply Rle_trans with (Ex (noisy r 0) (fun n => ind (V (integer n + d)%Z))).
  - apply Ex_le; [apply noisy_law, Hr | intro; apply ind_unit | intro; apply ind_unit|].
    intro n. specialize (H (integer n)). destruct (W (integer n)); [rewrite H by reflexivity; lra | apply ind_unit].
  - rewrite (noisy_shift r d (fun z => ind (V z)) Hr) by (intro; apply ind_unit).
    assert (C := laplace_private scale d 0 Hs). rewrite Z.sub_0_r in C. fold r in C.
    assert (F := close_functions _ _ _ _ (fun n => ind (V (integer n))) (noisy_law r d Hr) (noisy_law r 0 Hr) C (fun n => ind_unit _)).
    lra.
Qed.

Lemma same_length {A B} (R : A -> B -> Prop) l m : Forall2 R l m -> length l = length m.
Proof. induction 1; simpl; congruence. Qed.

(** * The mechanism *)

(** Index [i] wins where its number is above all before it and not below any after it: the least index of a largest number. *)
Definition wins (i : nat) (l : list Z) : bool :=
  forallb (fun v => v <? nth i l 0)%Z (firstn i l) && forallb (fun v => v <=? nth i l 0)%Z (skipn (S i) l).

(** Scores with their noise. *)
Definition with_noise (scores : list Z) (noise : list nat) : list Z :=
  map (fun sn => (fst sn + integer (snd sn))%Z) (combine scores noise).

Definition winning (scale : R) (scores : list Z) (i : nat) : R :=
  Exs (map (fun _ => noisy (exp (- / scale)) 0) scores) (fun noise => ind (wins i (with_noise scores noise))).

Lemma with_noise_app a b m n : length a = length m -> with_noise (a ++ b) (m ++ n) = with_noise a m ++ with_noise b n.
Proof.
  intro H. unfold with_noise. rewrite <- map_app. f_equal. revert m H. induction a; intros [|x m] H; try discriminate; simpl; [reflexivity|].
  f_equal. apply IHa. injection H; auto.
Qed.

Lemma with_noise_length a m : length a = length m -> length (with_noise a m) = length a.
Proof. intro H. unfold with_noise. rewrite map_length, combine_length. lia. Qed.

Lemma wins_split i a v b : length a = i -> wins i (a ++ v :: b) = forallb (fun x => x <? v)%Z a && forallb (fun x => x <=? v)%Z b.
Proof.
  intro H. subst. unfold wins. rewrite nth_middle, firstn_app, firstn_all, Nat.sub_diag. simpl firstn. rewrite app_nil_r.
  replace (skipn (S (length a)) (a ++ v :: b)) with b; [reflexivity|].
  change (a ++ v :: b) with (a ++ ([v] ++ b)). rewrite app_assoc, skipn_app.
  rewrite skipn_all2 by (rewrite app_length; simpl; lia). rewrite app_length. simpl length. rewrite Nat.add_1_r, Nat.sub_diag. reflexivity.
Qed.

Lemma still_below (test : Z -> Z -> bool) scores scores' noise v v' d :
  (forall x y k, test x y = true -> (k >= 0)%Z -> test (x + k)%Z (y + k)%Z = true) ->
  (forall x y x' y', (x' <= x)%Z -> (y <= y')%Z -> test x y = true -> test x' y' = true) ->
  (0 <= d)%Z -> (v + d <= v')%Z -> length scores = length scores' -> length scores = length noise ->
  Forall2 (fun s s' => Z.abs (s - s') <= d)%Z scores scores' ->
  forallb (fun x => test x v) (with_noise scores noise) = true -> forallb (fun x => test x v') (with_noise scores' noise) = true.
Proof.
  intros T1 T2 Hd Hv L1 L2 F. revert noise L2. induction F as [|s s' ss ss' Hs F IH]; intros [|n noise] L2 H; try discriminate; [reflexivity|].
  simpl in H. apply andb_true_iff in H. destruct H as [H1 H2]. simpl. apply andb_true_iff. split.
  - apply (T2 (s + integer n + d)%Z (v + d)%Z); [lia | lia | apply T1; [exact H1 | lia]].
  - apply IH; simpl in *; try lia. exact H2.
Qed.

Theorem noisy_max eps d scores scores' i :
  0 < eps -> (0 < d)%Z -> (i < length scores)%nat ->
  Forall2 (fun s s' => Z.abs (s - s') <= d)%Z scores scores' ->
  winning (2 * IZR d / eps) scores i <= exp eps * winning (2 * IZR d / eps) scores' i.
Proof.
  intros He Hd Hi F. assert (Hd' : 0 < IZR d) by (apply IZR_lt; assumption).
  set (scale := 2 * IZR d / eps). assert (Hs : 0 < scale) by (apply Rdiv_lt_0_compat; lra).
  unfold winning. set (z := noisy (exp (- / scale)) 0).
  assert (Hz : law z).
  { apply noisy_law. split; [left; apply exp_pos|]. rewrite <- exp_0. apply exp_increasing.
    apply Ropp_lt_gt_0_contravar, Rinv_0_lt_compat, Hs. }
  assert (L : length scores = length scores') by (eapply same_length; eassumption).
  destruct (nth_split scores 0%Z Hi) as (a & b & Ea & La).
  set (s := nth i scores 0%Z) in *. rewrite Ea in *. clear Ea.
  apply Forall2_app_inv_l in F. destruct F as (a' & t & Fa & Ft & E). subst scores'.
  inversion Ft as [|x s' y b' Hs' Fb]; subst. clear Ft.
  assert (La' : length a = length a') by (eapply same_length; eassumption).
  assert (Lb' : length b = length b') by (eapply same_length; eassumption).
  assert (Hm : forall xs : list Z, List.Forall law (map (fun _ => z) xs)).
  { intro xs. apply Forall_map, List.Forall_forall. intros; exact Hz. }
  rewrite !map_app. simpl. rewrite !Exs_app. simpl.
  assert (Em : map (fun _ : Z => z) a' = map (fun _ => z) a).
  { clear - La'. revert a' La'. induction a; intros [|] H; try discriminate; simpl; [reflexivity|]. f_equal. apply IHa. injection H; auto. }
  assert (En : map (fun _ : Z => z) b' = map (fun _ => z) b).
  { clear - Lb'. revert b' Lb'. induction b; intros [|] H; try discriminate; simpl; [reflexivity|]. f_equal. apply IHb. injection H; auto. }
  rewrite Em, En.
  assert (U : forall sc m k, 0 <= Ex z (fun n => Exs (map (fun _ => z) b) (fun c => ind (wins k (with_noise sc (m ++ n :: c))))) <= 1).
  { intros. apply Ex_unit; [exact Hz | intro; apply Exs_unit; [apply Hm | intro; apply ind_unit]]. }
  apply Exs_le; [apply Hm | intro; apply U | intro; apply U | left; apply exp_pos|].
  intros m Lm. rewrite map_length in Lm.
  rewrite !Exs_swap; try exact Hz; try apply Hm; try (intros; apply ind_unit).
  apply Exs_le; [apply Hm | intro; apply Ex_unit; [exact Hz | intro; apply ind_unit] | intro; apply Ex_unit; [exact Hz | intro; apply ind_unit]
    | left; apply exp_pos |].
  intros c Lc. rewrite map_length in Lc.
  assert (B := moved_noise scale (2 * d)
    (fun x => forallb (fun v => v <? s + x)%Z (with_noise a m) && forallb (fun v => v <=? s + x)%Z (with_noise b c))
    (fun x => forallb (fun v => v <? s' + x)%Z (with_noise a' m) && forallb (fun v => v <=? s' + x)%Z (with_noise b' c)) Hs).
  assert (Eq : exp (IZR (Z.abs (2 * d)) / scale) = exp eps).
  { f_equal. rewrite Z.abs_eq by lia. rewrite mult_IZR. unfold scale. field. lra. }
  rewrite Eq in B.
  assert (W : forall sc y sd n, length sc = length a -> length sd = length b ->
    wins (length a) (with_noise (sc ++ y :: sd) (m ++ n :: c))
    = forallb (fun v => v <? y + integer n)%Z (with_noise sc m) && forallb (fun v => v <=? y + integer n)%Z (with_noise sd c)).
  { intros sc y sd n H1 H2. rewrite with_noise_app by lia. simpl. apply wins_split. rewrite with_noise_length; lia. }
  erewrite Ex_ext by (intro n; rewrite W by reflexivity; reflexivity).
  erewrite (Ex_ext z (fun n => ind (wins (length a) (with_noise (a' ++ s' :: b') (m ++ n :: c))))) by (intro n; rewrite W by lia; reflexivity).
  apply B. intros x H. apply andb_true_iff in H. destruct H as [H1 H2]. apply andb_true_iff. split.
  - apply (still_below Z.ltb a a' m (s + x) (s' + (x + 2 * d)) d); try lia; try assumption.
  - apply (still_below Z.leb b b' c (s + x) (s' + (x + 2 * d)) d); try lia; try assumption.
Qed.
