// Tables inside class "sortable" are sorted by a click on a heading, numbers by value; again: the other way round.
document.querySelectorAll(".sortable table").forEach((table) => {
  const value = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = parseFloat(text.replace(/,/g, "").replace(/^[~+]/, ""));
    return Number.isNaN(number) ? text : number;
  };
  table.querySelectorAll("th").forEach((heading, column) => {
    const button = document.createElement("button");
    button.textContent = heading.textContent || "benchmark";
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") !== "descending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
      rows.sort(([a], [b]) => {
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; // what is not known comes last
        const order = typeof a === "number" ? a - b : b.localeCompare(a);
        return down ? -order : order;
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
});
