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

(* Bounds at 64, 128 and 192 bits; what they say of 16 bits are their first 16. *)
let first16 bounds = List.map (fun x -> Z.div x (Z.pow (integer "10") (integer "110000"))) bounds
let shifted value more size = Z.add (Z.mul value (Z.pow (integer "10") size)) more
let rest_of word size = Z.div word (Z.pow (integer "10") size)
let b16 = integer "10000" and b64 = integer "1000000"

(* Verdicts at stage after stage, each with one word more, until one is sure. *)
let rec decided verdict stages known words =
  match stages, words with
  | bounds :: later, word :: rest ->
    (match verdict bounds known with Some x -> Some x | None -> decided verdict later (shifted known word b64) rest)
  | bounds :: _, [] -> verdict bounds known
  | [], _ -> None

let tables = Hashtbl.create 8
let listed text = if text = "" then [] else List.map integer (String.split_on_char ',' text)
let choose (lows, highs) known = chosen_at lows highs known

let drawn stages = function
  | first :: second :: words ->
    let known = Z.modulo first (Z.pow (integer "10") b16) in
    (match choose (List.hd stages) known with
     | Some x -> Some x
     | None -> decided choose (List.tl stages) (shifted known (rest_of second b16) (integer "110000")) words)
  | _ -> failwith "a draw needs words"

let rec pairs = function low :: high :: rest -> (low, high) :: pairs rest | _ -> []
let all_parts = Hashtbl.create 8
let parts_of shift blocks =
  if not (Hashtbl.mem all_parts (shift, blocks)) then
    Hashtbl.add all_parts (shift, blocks) (Array.of_list (parts (natural shift) (natural blocks)));
  Hashtbl.find all_parts (shift, blocks)

let kind = function "rows" -> Rows | "sum" -> Sum | "centred" -> Centred | "squares" -> Squares | _ -> failwith "unknown moment"
let rec keys tau place = function
  | units :: noise :: rest ->
    let others = keys tau (place + 1) rest in
    (match key_shows tau units noise with Some n -> Printf.sprintf "%d:%s" place (written n) :: others | None -> others)
  | _ -> []

let answer line =
  match String.split_on_char ' ' line with
  | "filter" :: eps :: rho :: delta :: costs ->
    let limits = { eps_cap = fraction eps; rho_cap = fraction rho; delta_cap = fraction delta } in
    String.concat " " (decisions limits { eps_steps = Some Z0; rho_steps = Z0; delta_steps = Z0 } costs)
  | ["reach"; rows; groups; per_group] ->
    let rows, groups, per_group = natural rows, natural groups, natural per_group in
    Printf.sprintf "%d %d" (number (reach_l1 rows groups per_group)) (number (reach_l2_squared rows groups per_group))
  | ["rule"; moment; low; high; rows; groups; per_group; changes; several] ->
    written (l1_sensitivity (kind moment) (integer low) (integer high) (natural rows) (natural groups) (natural per_group)
      (changes = "1") (several = "1"))
  | "keys" :: tau :: numbers -> String.concat " " (keys (integer tau) 0 (List.map integer numbers))
  | "bounds" :: name :: lists -> 
    let stages = pairs (List.map listed lists) in
    let lows, highs = List.hd stages in
    Hashtbl.add tables name ((first16 lows, first16 highs) :: stages); "ok"
  | "table" :: name :: words ->
    (match drawn (Hashtbl.find tables name) (List.map integer words) with None -> "unsure" | Some o -> string_of_int (number o))
  | "happens" :: low64 :: high64 :: low128 :: high128 :: first :: words ->
    let stages = pairs (List.map integer [low64; high64; low128; high128]) in
    (match decided (fun (low, high) known -> happens_at low high known) stages (integer first) (List.map integer words) with
     | None -> "unsure"
     | Some b -> if b then "1" else "0")
  | ["placed"; shift; blocks; outcome; bits; beyond] ->
    written (placed (natural shift) (natural blocks) (parts_of shift blocks).(int_of_string outcome) (integer bits) (integer beyond))
  | "winner" :: numbers ->
    (match winner (List.map integer numbers) with None -> "none" | Some i -> string_of_int (number i))
  | _ -> failwith "unknown case"

let () = try while true do print_endline (answer (input_line stdin)) done with End_of_file -> ()
