// Gallery of takes as small spectrograms: a click plays and selects a take, which can be moved to another word or deleted.
//
// A sound is requested from the server on first play and cached here. Text is set with textContent (no HTML).

const galleries = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let gallery = galleries.get(parentElement);
  if (!gallery) {
    gallery = new Gallery(parentElement);
    galleries.set(parentElement, gallery);
  }
  gallery.send = (what, id, word = "") => setTriggerValue("event", { what, id, word, turn: crypto.randomUUID() });
  gallery.update(data);
  return () => {
    gallery.destroy();
    galleries.delete(parentElement);
  };
}

function element(tag, name, attributes = {}, text = "") {
  const node = document.createElement(tag);
  if (name) node.className = name;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
}

class Gallery {
  constructor(parent) {
    this.sounds = new Map(); // id to Audio
    this.picked = null;
    this.root = element("div", "gallery");
    this.list = element("div", "groups");
    this.bar = element("div", "bar", { role: "group", "aria-label": "Selected take" });
    this.bar.hidden = true;
    this.root.append(this.list, this.bar);
    this.root.addEventListener("keydown", (event) => this.key(event));
    parent.appendChild(this.root);
  }

  destroy() {
    this.hush();
    this.root.remove();
  }

  update(data) {
    this.data = data;
    this.list.classList.toggle("flow", Boolean(data.flow));
    const { sound } = data;
    const shown = JSON.stringify(data.groups);
    if (shown !== this.shown) {
      this.shown = shown;
      this.build();
    }
    this.pick(this.cards.has(this.picked) ? this.picked : null);
    if (sound && sound.turn !== this.turn) {
      this.turn = sound.turn;
      this.sounds.set(sound.id, new Audio(`data:audio/wav;base64,${sound.wav}`));
      this.play(sound.id);
    }
  }

  build() {
    const focused = this.root.getRootNode().activeElement?.dataset.take;
    this.cards = new Map();
    this.list.replaceChildren(...this.data.groups.map(({ title, note, takes }) => {
      const group = element("div", "group");
      if (title) {
        const head = group.appendChild(element("p", "head"));
        head.append(element("strong", "", {}, title), element("span", "note", {}, note ? ` ${note}` : ""));
      }
      const row = group.appendChild(element("div", "row"));
      for (const take of takes) row.append(this.card(take, title));
      return group;
    }));
    if (focused) this.cards.get(focused)?.focus();
  }

  card({ id, picture, label, note, alt }, title) {
    const card = element("div", "card");
    const button = element("button", "take", { type: "button", "data-take": id, "aria-label": `Play ${alt || label || title}` });
    button.append(element("img", "", { src: picture, alt: "", width: 96, height: 64 }));
    if (label) button.append(element("span", "label", {}, label));
    if (note) button.append(element("span", "note", {}, note));
    button.onclick = () => this.click(id);
    card.append(button);
    if (this.data.drops) {
      const drop = element("button", "drop", { type: "button", "aria-label": `Delete ${alt || label || title}`, title: "Delete this take" }, "×");
      drop.onclick = () => this.send("drop", id);
      card.append(drop);
    }
    this.cards.set(id, button);
    return card;
  }

  key(event) {
    const id = event.target.dataset?.take;
    if (!id || !this.data.drops || !["Delete", "Backspace"].includes(event.key)) return;
    event.preventDefault();
    this.send("drop", id);
  }

  click(id) {
    this.pick(id);
    if (this.sounds.has(id)) this.play(id);
    else this.send("play", id);
  }

  pick(id) {
    this.picked = id;
    for (const [name, card] of this.cards) card.classList.toggle("picked", name === id);
    const words = this.data.words ?? [];
    this.bar.hidden = id === null || words.length === 0;
    if (this.bar.hidden) return;
    this.bar.replaceChildren(element("span", "", {}, "Correct word:"));
    for (const word of words) {
      const move = element("button", "move", { type: "button" }, word);
      move.onclick = () => this.send("move", id, word);
      this.bar.append(move);
    }
  }

  hush() {
    for (const sound of this.sounds.values()) sound.pause();
    for (const card of this.cards?.values() ?? []) card.classList.remove("playing");
  }

  play(id) {
    this.hush();
    const [sound, card] = [this.sounds.get(id), this.cards.get(id)];
    sound.currentTime = 0;
    card?.classList.add("playing");
    sound.onended = () => card?.classList.remove("playing");
    sound.play().then(() => (this.root.dataset.played = id), () => card?.classList.remove("playing"));
  }
}
