// Elements, numbers and the line of state that the pages in one file share.

export const find = (id) => document.getElementById(id);

// A number without decimals, with commas; the browser's own format takes 10 ms to load.
export function whole(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function say(text, isError = false) {
  find("state").textContent = text;
  find("state").classList.toggle("error", isError);
}
