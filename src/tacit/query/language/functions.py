"""The operators, functions and casts that are known: by sqlglot's classes or by name, and how many arguments each takes."""

from __future__ import annotations

from sqlglot import exp

BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "and", exp.Or: "or", exp.Nullif: "nullif", exp.Pow: "power", exp.DPipe: "concat",
    exp.CovarPop: "covar_pop", exp.CovarSamp: "covar_samp", exp.Corr: "corr",
    exp.RegrSlope: "regr_slope", exp.RegrIntercept: "regr_intercept",
}  # fmt: skip
UNARY: dict[type[exp.Expr], str] = {
    exp.Neg: "negate", exp.Not: "not", exp.Abs: "abs", exp.Floor: "floor", exp.Ceil: "ceil", exp.Sign: "sign",
    exp.Sqrt: "sqrt", exp.Ln: "ln", exp.Exp: "exp",
    exp.Lower: "lower", exp.Upper: "upper", exp.Length: "length", exp.Trim: "trim",
    exp.Year: "year", exp.Month: "month", exp.Day: "day", exp.Quarter: "quarter",
    exp.DayOfWeek: "dayofweek", exp.DayOfYear: "dayofyear",
    exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Median: "median", exp.Mode: "mode",
    exp.Variance: "var_samp", exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp", exp.StddevPop: "stddev_pop",
}  # fmt: skip
MANY: dict[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}
TAKES: dict[str, tuple[int, int]] = {  # the least and the most arguments; of what is not listed, one or more
    **dict.fromkeys(BINARY.values(), (2, 2)),
    **dict.fromkeys(UNARY.values(), (1, 1)),
    "log10": (1, 1), "count": (1, 1), "quantile": (2, 2), "round": (1, 2), "substring": (2, 3), "width_bucket": (4, 4),
}  # fmt: skip
CASTS = {
    "INT": "cast_integer", "BIGINT": "cast_integer", "SMALLINT": "cast_integer", "TINYINT": "cast_integer",
    "DOUBLE": "cast_number", "FLOAT": "cast_number", "DECIMAL": "cast_number",
    "DATE": "cast_date", "TEXT": "cast_text", "VARCHAR": "cast_text", "BOOLEAN": "cast_boolean",
}  # fmt: skip
DATE_PARTS = frozenset({"year", "quarter", "month", "day", "dayofyear", "dayofweek", "isodow"})
NAMED = {"dow": "dayofweek", "doy": "dayofyear", "quantile_cont": "quantile", "mod": "%"}
USAGE = {
    "count": "write COUNT(*) or COUNT(column)",
    "quantile": "write QUANTILE_CONT(column, 0.5)",
    "substring": "write SUBSTRING(column, 1, 3)",
}
