(** Numbers that the pages state, enclosed by interval arithmetic. *)

From Coq Require Import Reals Lra Lia.
From Interval Require Import Tactic.
From tacit Require Import Laws Threshold Pure.
Open Scope R_scope.

(** filter.md: what the tight conversion allows for (1, 10^-6), of which 99 hundredths are for the conversion, at the order 22. *)
Theorem largest_rho_of_one :
  exp ((22 - 1) * (22 * (24330 / 1000000) - 1)) * (exp (22 * ln (1 - 1 / 22)) / (22 - 1)) <= 99 / 100 / 1000000.
Proof. interval with (i_prec 60). Qed.

(** laplace.md: sensitivity 2, epsilon 1/2, 95 %: one number, and ten numbers by the union bound. *)
Theorem half_width_of_one : Rabs (4 * ln 20 - 11.98293) <= 0.000005.
Proof. interval with (i_prec 60). Qed.

Theorem half_width_of_ten_by_union : Rabs (4 * ln 200 - 21.19327) <= 0.000005.
Proof. interval with (i_prec 60). Qed.

Theorem half_width_of_ten : Rabs (- 4 * ln (1 - exp (ln (95 / 100) / 10)) - 21.10138) <= 0.000005.
Proof. interval with (i_prec 60). Qed.

(** composition.md: continuous Laplace noise understates a count by 3, 20 and 25 %. *)
Definition understated (e : R) := 1 - (e + exp (- e) - 1) / (e * tanh_half e).

Theorem understated_at_a_tenth : Rabs (understated (1 / 10) - 0.03) <= 0.005.
Proof. unfold understated, tanh_half. interval with (i_prec 80). Qed.

Theorem understated_at_one : Rabs (understated 1 - 0.20) <= 0.005.
Proof. unfold understated, tanh_half. interval with (i_prec 60). Qed.

Theorem understated_at_two : Rabs (understated 2 - 0.25) <= 0.005.
Proof. unfold understated, tanh_half. interval with (i_prec 60). Qed.

(** selection.md: the least thresholds for some (epsilon, delta, groups). One step less does not suffice. *)
Definition some_shows (tau groups : nat) (eps : R) : R := 1 - (1 - alone tau (exp (- / (INR groups / eps)))) ^ groups.

Lemma some_shows_is tau groups eps : 0 < eps -> (1 <= groups)%nat ->
  some_shows tau groups eps = 1 - (1 - exp (- (INR (tau - 1) * (eps / INR groups))) / (1 + exp (- (eps / INR groups)))) ^ groups.
Proof.
  intros He Hg. assert (0 < INR groups) by (apply lt_0_INR; lia). unfold some_shows, alone.
  replace (- / (INR groups / eps)) with (- (eps / INR groups)) by (field; lra).
  assert (P : exp (- (eps / INR groups)) ^ (tau - 1) = exp (- (INR (tau - 1) * (eps / INR groups)))).
  { rewrite <- Rpower_pow by apply exp_pos. unfold Rpower. rewrite ln_exp. f_equal. ring. }
  rewrite P. reflexivity.
Qed.

Ltac threshold := split; (rewrite some_shows_is by (lra || lia)); rewrite !INR_IZR_INZ; cbn [Nat.sub Z.of_nat Pos.of_succ_nat Pos.succ]; interval with (i_prec 80).

Theorem threshold_of_one : some_shows 15 1 1 <= / 10 ^ 6 /\ / 10 ^ 6 < some_shows 14 1 1.
Proof. threshold. Qed.

Theorem threshold_of_eight_groups : some_shows 124 8 1 <= / 10 ^ 6 /\ / 10 ^ 6 < some_shows 123 8 1.
Proof. threshold. Qed.

Theorem threshold_of_a_half : some_shows 282 8 (1 / 2) <= / 10 ^ 7 /\ / 10 ^ 7 < some_shows 281 8 (1 / 2).
Proof. threshold. Qed.

Theorem threshold_of_a_tenth : some_shows 156 1 (1 / 10) <= / 10 ^ 7 /\ / 10 ^ 7 < some_shows 155 1 (1 / 10).
Proof. threshold. Qed.

(** One person with 8 rows in one group, counted by rows. *)
Theorem eight_rows_show : Rabs (exp (- 7) / (1 + exp (- 1)) - 0.00067) <= 0.000005.
Proof. interval with (i_prec 60). Qed.

(** discrete.md: the tail of Laplace noise begins where e^-12.5 is left; what 11 terms of (e^x - 1) / x leave out. *)
Theorem tail_is_rare : exp (- 12.5) < / 2 ^ 18.
Proof. interval with (i_prec 60). Qed.

Theorem series_of_a_share : (1 / 8) ^ 11 / 479001600 * 1.01 < / 2 ^ 61.
Proof. interval with (i_prec 80). Qed.

(** choice.md: the logarithm of 2 in two parts; what the series of e^-z leaves out up to |z| = 0.0217; how far exponents go. *)
Theorem log_of_two : Rabs (ln 2 - (IZR 0xB17217F7D1 / 2 ^ 40 + IZR 0xCF79ABC9E3B39 / 2 ^ 92)) < / 2 ^ 92.
Proof. interval with (i_prec 200). Qed.

Theorem series_of_a_decay : 0.0217 ^ 7 / 5040 * 1.01 < exp (- (50.9) * ln 2).
Proof. interval with (i_prec 80). Qed.

Theorem farthest_exponent : (1001 + 51 + 60 + 1 / 2) * ln 2 + 0.01 < 772 /\ 772 * (/ 2 ^ 50) < exp (- (40.4) * ln 2).
Proof. split; interval with (i_prec 80). Qed.

(** curves.md: ten nested roots of 2^37, and what is left out of the series of their logarithm. *)
Theorem nested_roots : exp (37 / 1024 * ln 2) < 1.0254 /\ 0.0254 / 2.0254 <= 0.0126 /\ 2 * 0.0126 ^ 9 / 8 < / 2 ^ 58.
Proof. repeat split; interval with (i_prec 80). Qed.

(** randomized_response.md: the half-widths of Chebyshev's and Hoeffding's bounds for 20,000 reports, p = 1/4, 95 %. *)
Theorem half_width_by_chebyshev : Rabs (1 / (2 * (1 - 2 / 4) * sqrt (20000 * 0.05)) - 0.031623) <= 0.0000005.
Proof. interval with (i_prec 60). Qed.

Theorem half_width_by_variance : Rabs (sqrt (1 / 4 * (3 / 4) / (20000 * 0.05)) / (1 - 2 / 4) - 0.027386) <= 0.0000005.
Proof. interval with (i_prec 60). Qed.

Theorem half_width_by_hoeffding : Rabs (sqrt (ln (2 / 0.05) / (2 * 20000)) / (1 - 2 / 4) - 0.019206) <= 0.0000005.
Proof. interval with (i_prec 60). Qed.
