// Names and values. Values may be text that a user typed: it enters by textContent only.

function element(tag, text, className) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

export default function ({ data, parentElement }) {
  const list = parentElement.querySelector(".facts");
  list.style.setProperty("--tile", `${data.tile}px`);
  list.replaceChildren(
    ...data.facts.map((fact) => {
      const tile = document.createElement("div");
      const looks = [fact.literal && "text", fact.value.length > 24 && "long"].filter(Boolean).join(" ");
      tile.append(element("dt", fact.name), element("dd", fact.value, looks));
      if (fact.note) tile.append(element("dd", fact.note, "note"));
      return tile;
    }),
  );
}
