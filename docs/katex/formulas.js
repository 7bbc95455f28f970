// Formulas of a page, typeset where they stand. Material loads pages without leaving one, so each new one is typeset too.
const typeset = () =>
  document.querySelectorAll(".arithmatex").forEach((formula) =>
    renderMathInElement(formula, {
      delimiters: [
        { left: "\\(", right: "\\)", display: false },
        { left: "\\[", right: "\\]", display: true },
      ],
      throwOnError: false,
    }),
  );
if (typeof document$ === "undefined") document.addEventListener("DOMContentLoaded", typeset);
else document$.subscribe(typeset);
