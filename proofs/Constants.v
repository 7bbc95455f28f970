(** Numbers that the pages state, enclosed by interval arithmetic. *)

From Coq Require Import Reals.
From Interval Require Import Tactic.
Open Scope R_scope.

(** filter.md: what the tight conversion allows for (1, 10^-6), of which 99 hundredths are for the conversion, at the order 22. *)
Theorem largest_rho_of_one :
  exp ((22 - 1) * (22 * (24330 / 1000000) - 1)) * (exp (22 * ln (1 - 1 / 22)) / (22 - 1)) <= 99 / 100 / 1000000.
Proof. interval with (i_prec 60). Qed.

(** laplace.md: sensitivity 2, epsilon 1/2, 95 %: one number, and ten numbers by the union bound. *)
Theorem half_width_of_one : Rabs (4 * ln 20 - 11.98293) <= 0.000005.
Proof. interval. Qed.

Theorem half_width_of_ten_by_union : Rabs (4 * ln 200 - 21.19327) <= 0.000005.
Proof. interval. Qed.

Theorem half_width_of_ten : Rabs (- 4 * ln (1 - exp (ln (95 / 100) / 10)) - 21.10138) <= 0.000005.
Proof. interval with (i_prec 60). Qed.

(** composition.md: continuous Laplace noise understates a count by 3, 20 and 25 %. *)
Definition tanh_half (e : R) := (exp e - 1) / (exp e + 1).

Definition understated (e : R) := 1 - (e + exp (- e) - 1) / (e * tanh_half e).

Theorem understated_at_a_tenth : Rabs (understated (1 / 10) - 0.03) <= 0.005.
Proof. unfold understated, tanh_half. interval with (i_prec 80). Qed.

Theorem understated_at_one : Rabs (understated 1 - 0.20) <= 0.005.
Proof. unfold understated, tanh_half. interval. Qed.

Theorem understated_at_two : Rabs (understated 2 - 0.25) <= 0.005.
Proof. unfold understated, tanh_half. interval. Qed.
