// Tells a drawing what is selected. Apart from the drawing, so that its bytes stay equal and are sent once.
export default function ({ data }) {
  (window.explorerMarks ??= {})[data.target] = data;
  window.dispatchEvent(new CustomEvent("explorer-mark", { detail: data }));
}
