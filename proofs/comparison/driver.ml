(* Reads a case a line, prints its result a line. Integers are in binary, so that no library of large numbers is needed. *)
open Model

let positive text =
  let rec go i acc = if i = String.length text then acc else go (i + 1) (if text.[i] = '1' then XI acc else XO acc) in
  go 1 XH

let integer text =
  if text = "0" then Z0
  else if text.[0] = '-' then Zneg (positive (String.sub text 1 (String.length text - 1)))
  else Zpos (positive text)

let rec binary = function XH -> "1" | XO p -> binary p ^ "0" | XI p -> binary p ^ "1"
let written = function Z0 -> "0" | Zpos p -> binary p | Zneg p -> "-" ^ binary p
let natural text = let rec go n = if n = 0 then O else S (go (n - 1)) in go (int_of_string text)
let rec number = function O -> 0 | S n -> 1 + number n

let fraction text =
  match String.split_on_char '/' text with
  | [above; below] -> { qnum = integer above; qden = positive below }
  | _ -> failwith "a fraction is written as two integers"

let maybe text = if text = "none" then None else Some (fraction text)

let shown s =
  String.concat " " [(match s.eps_steps with None -> "none" | Some e -> written e); written s.rho_steps; written s.delta_steps]

let rec decisions limits state = function
  | eps :: rho :: delta :: rest ->
    let admitted, next = decide limits state (maybe eps) (fraction rho) (fraction delta) in
    (if admitted then "1" else "0") :: decisions limits next rest
  | [] -> [shown state]
  | _ -> failwith "a cost is three numbers"

let answer line =
  match String.split_on_char ' ' line with
  | "filter" :: eps :: rho :: delta :: costs ->
    let limits = { eps_cap = fraction eps; rho_cap = fraction rho; delta_cap = fraction delta } in
    String.concat " " (decisions limits { eps_steps = Some Z0; rho_steps = Z0; delta_steps = Z0 } costs)
  | ["reach"; rows; groups; per_group] ->
    let rows, groups, per_group = natural rows, natural groups, natural per_group in
    Printf.sprintf "%d %d" (number (reach_l1 rows groups per_group)) (number (reach_l2_squared rows groups per_group))
  | "winner" :: numbers ->
    (match winner (List.map integer numbers) with None -> "none" | Some i -> string_of_int (number i))
  | _ -> failwith "unknown case"

let () = try while true do print_endline (answer (input_line stdin)) done with End_of_file -> ()
