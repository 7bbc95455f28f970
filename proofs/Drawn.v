(** Discrete Laplace noise with its table, whose bounds enclose the thresholds: src/tacit/mechanisms/noise/discrete.md. *)

From Coq Require Import Reals Lra Lia List ZArith Bool Arith.
From Coquelicot Require Import Coquelicot.
From tacit Require Import Laws Laplace Coins Sampler Rounds.
Import ListNotations.
Open Scope R_scope.

(** * Thresholds of weights, and the sampler with its table *)

Fixpoint thresholds (sum total : R) (ws : list R) : list R :=
  match ws with
  | [] | [_] => []
  | v :: rest => (sum + v) / total :: thresholds (sum + v) total rest
  end.

Lemma thresholds_rise total ws : 0 < total -> List.Forall (fun v => 0 <= v) ws -> forall sum, ws <> [] ->
  sum + fold_right Rplus 0 ws = total -> rising (sum / total) (thresholds sum total ws).
Proof.
  intros W. induction 1 as [|v ws Hv H IH]; intros sum N E; [congruence|]. destruct ws as [|w ws].
  - simpl in *. apply Rmult_le_reg_r with total; [exact W|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - cbn [thresholds rising]. split.
    + apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, W | lra].
    + apply IH; [discriminate | simpl in *; lra].
Qed.

Lemma thresholds_ends total ws : 0 < total -> forall sum k v, nth_error ws k = Some v -> sum + fold_right Rplus 0 ws = total ->
  snd (ends (sum / total) (thresholds sum total ws) k) - fst (ends (sum / total) (thresholds sum total ws) k) = v / total.
Proof.
  intro W. induction ws as [|w ws IH]; intros sum k v H E; [destruct k; discriminate|].
  destruct ws as [|w' ws].
  - destruct k as [|[|k]]; try discriminate. injection H as <-. simpl in *. rewrite <- E. field. lra.
  - destruct k as [|k]; cbn [thresholds ends].
    + injection H as <-. simpl. field. lra.
    + apply IH; [exact H | simpl in *; lra].
Qed.

Lemma thresholds_length sum total ws : ws <> [] -> S (length (thresholds sum total ws)) = length ws.
Proof. revert sum. induction ws as [|v [|w ws] IH]; intros sum N; [congruence | reflexivity|]. cbn [thresholds length] in *. rewrite IH by discriminate. reflexivity. Qed.

Lemma enclosed_length c n ts ls hs : enclosed c n ts ls hs -> length hs = length ts.
Proof. revert ls hs. induction ts as [|t ts IH]; intros [|l ls] [|h hs]; simpl; try tauto. intros (_ & _ & E). rewrite (IH ls hs E). reflexivity. Qed.

Lemma filter_at_most {A} (f : A -> bool) l : (length (filter f l) <= length l)%nat.
Proof. induction l as [|x l IH]; simpl; [lia|]. destruct (f x); simpl; lia. Qed.

Lemma decided_below (verdict : nat -> Z -> option nat) J : (forall n u k, verdict n u = Some k -> (k < J)%nat) ->
  forall more n u, all_below J (decided nat verdict more n u).
Proof.
  intro H. induction more as [|more IH]; intros n u; simpl; destruct (verdict n u) eqn:V; simpl; eauto.
Qed.

Definition law_of_parts (shift blocks : nat) (r : R) : list R :=
  map (weight shift blocks r) (parts shift blocks).

(** Discrete Laplace noise of a scale, drawn by a table whose bounds enclose the thresholds, and wedges whose shares are enclosed: the chance of every
    integer x tends to (1 - p) / (1 + p) p^|x|, p = e^(-1/scale). *)
Section Drawn.
Variables (shift blocks : nat) (scale c : R).
Variable stage : nat -> bool.
Variables lows highs : nat -> list Z.
Variables (low high : bool -> nat -> nat -> nat -> Z).
Let p := exp (- / scale).
Hypothesis scale_pos : 0 < scale.
Hypothesis some_blocks : (1 <= blocks)%nat.
Hypothesis always : stages stage.
Hypothesis table_enclosed : forall n, stage n = true ->
  enclosed c n (thresholds 0 (whole shift blocks p) (law_of_parts shift blocks p)) (lows n) (highs n).
Hypothesis shares_enclosed : forall s B b n, (B < blocks)%nat -> (b < 2 ^ shift)%nat -> stage n = true ->
  IZR (low s B b n) <= share_kept shift p s B b * 2 ^ n <= IZR (high s B b n) /\ IZR (high s B b n) - IZR (low s B b n) <= c.

Definition drawn : nat -> coins Z :=
  sample shift blocks (choice stage lows highs) (fun s B b => happens stage (low s B b) (high s B b)).

Lemma p_unit : 0 < p < 1.
Proof. split; [apply exp_pos|]. unfold p. rewrite <- exp_0. apply exp_increasing, Ropp_lt_gt_0_contravar, Rinv_0_lt_compat, scale_pos. Qed.

Lemma weights_total : 0 + fold_right Rplus 0 (law_of_parts shift blocks p) = whole shift blocks p.
Proof. unfold whole, law_of_parts. rewrite Rplus_0_l. induction (parts shift blocks) as [|q l IH]; simpl; [reflexivity | rewrite IH; reflexivity]. Qed.

Lemma some_parts : law_of_parts shift blocks p <> [].
Proof. unfold law_of_parts, parts. intro H. apply (f_equal (@length R)) in H. rewrite map_length, !app_length in H. simpl in H. lia. Qed.

Lemma table_rises : rising 0 (thresholds 0 (whole shift blocks p) (law_of_parts shift blocks p)).
Proof.
  pose proof (whole_pos shift blocks p p_unit) as W. replace 0 with (0 / whole shift blocks p) at 1 by (field; lra).
  apply thresholds_rise; [exact W | | exact some_parts | exact weights_total].
  apply Forall_map, List.Forall_forall. intros q _. apply weight_pos, p_unit.
Qed.

Lemma table_sends o q : nth_error (parts shift blocks) o = Some q ->
  is_lim_seq (fun n => chance (choice stage lows highs n) (Nat.eqb o)) (weight shift blocks p q / whole shift blocks p).
Proof.
  intro H. pose proof (whole_pos shift blocks p p_unit) as W.
  assert (L := table_law _ c stage lows highs table_rises always table_enclosed o). cbv zeta beta in L.
  assert (N : nth_error (law_of_parts shift blocks p) o = Some (weight shift blocks p q)) by (apply map_nth_error, H).
  assert (E := thresholds_ends (whole shift blocks p) _ W 0 o _ N weights_total).
  replace (0 / whole shift blocks p) with 0 in E by (field; lra). rewrite E in L. exact L.
Qed.

Lemma table_bounded n : all_below (length (parts shift blocks)) (choice stage lows highs n).
Proof.
  apply decided_below. intros m u k V. destruct (stage m) eqn:S; [|discriminate]. unfold chosen_at in V.
  destruct (_ =? _)%nat; [|discriminate]. injection V as <-.
  assert (L := enclosed_length _ _ _ _ _ (table_enclosed m S)).
  assert (T := thresholds_length 0 (whole shift blocks p) _ some_parts). unfold law_of_parts in T at 2. rewrite map_length in T.
  pose proof (filter_at_most (fun h => h <? u)%Z (highs m)). lia.
Qed.

Lemma shares_law : shift <> 0%nat -> forall s B b, (B < blocks)%nat -> (b < 2 ^ shift)%nat ->
  is_lim_seq (fun n => chance (happens stage (low s B b) (high s B b) n) (Bool.eqb true)) (share_kept shift p s B b)
  /\ is_lim_seq (fun n => chance (happens stage (low s B b) (high s B b) n) (Bool.eqb false)) (1 - share_kept shift p s B b).
Proof.
  intros N s B b HB Hb. apply happens_law with c; [|exact always | intros n S; apply shares_enclosed; assumption].
  pose proof p_unit as P. assert (Two : (2 <= 2 ^ shift)%nat).
  { destruct shift as [|k]; [congruence|]. simpl. pose proof (Nat.pow_nonzero 2 k). lia. }
  assert (F : floor shift p s B < top shift p s B) by (apply (pow_strictly shift); [exact P | destruct s; simpl; lia]).
  assert (L : floor shift p s B <= p ^ magnitude s (B * 2 ^ shift + b) <= top shift p s B).
  { unfold floor, top. split; apply (pow_below shift); try exact P; clear - Hb; unfold magnitude; set (w := (2 ^ shift)%nat) in *; clearbody w;
      set (y := (B * w)%nat); destruct s; lia. }
  unfold share_kept. split.
  - apply Rdiv_le_0_compat; lra.
  - apply Rmult_le_reg_r with (top shift p s B - floor shift p s B); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Theorem drawn_law x : is_lim_seq (fun n => chance (drawn n) (Z.eqb x)) (laplace (exp (- / scale)) x).
Proof.
  apply sample_law; [exact p_unit | exact some_blocks | exact table_bounded | intros; apply decided_more | exact table_sends
    | intros; apply decided_more | exact shares_law].
Qed.

(** It ends with probability 1, *)
Theorem drawn_ends : is_lim_seq (fun n => chance (drawn n) (fun _ => true)) 1.
Proof.
  apply (sample_ends shift blocks) with (r := p); [exact p_unit | exact some_blocks | exact table_bounded | intros; apply decided_more | exact table_sends
    | intros; apply decided_more | exact shares_law].
Qed.

(** and folded about -1/2 it is geometric. *)
Theorem geometric_law k : is_lim_seq (fun n => chance (bind (drawn n) (fun x => Return (steps x))) (Nat.eqb k)) ((1 - exp (- / scale)) * exp (- / scale) ^ k).
Proof.
  apply folded_law; [exact p_unit | exact some_blocks | exact table_bounded | intros; apply decided_more | exact table_sends
    | intros; apply decided_more | exact shares_law].
Qed.
End Drawn.
