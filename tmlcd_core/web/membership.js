// T over time (tmlcd_core/learners/membership.py), from what a run tells: the first T, predictions, sizes and alarms.

// Rows { sample, label, enters, leaves }: `sample` is the index in the stream, or -1 - j for initial sample j.
export class Membership {
  constructor(length) {
    this.length = length;
    this.rows = [];
    this.queue = []; // T, oldest first
  }

  add(sample, label, enters) {
    const row = { sample, label, enters, leaves: this.length };
    this.rows.push(row);
    this.queue.push(row);
  }

  // The oldest samples leave at sample `time`, so that `size` stay.
  shrink(size, time) {
    for (const row of this.queue.splice(0, Math.max(0, this.queue.length - size))) row.leaves = time;
  }

  // How many samples T lost at an alarm, and how many it held before it.
  dropped(alarm) {
    const held = this.rows.filter(({ enters, leaves }) => enters < alarm && leaves >= alarm);
    return [held.filter(({ leaves }) => leaves === alarm).length, held.length];
  }
}

// The picture of the plane for the player (viz/picture.py): all samples, and T of each learner.
export function planePicture(stream, traces, looks, put) {
  const { labels, rows, initial } = stream;
  const { classes } = traces[0];
  if (rows[0].length !== 2 || classes.length > looks.length) return null;
  const codes = new Map(classes.map((label, code) => [label, code]));
  const column = (name, type) => (members) => put(members.map((row) => row[name]), type);
  const place = ({ sample }) => (sample >= 0 ? sample + initial : -1 - sample);
  return {
    title: "The plane", regions: true, initial, can_play: false,
    classes: classes.map((name, number) => ({ ...looks[number], name })),
    x: put(rows.map((row) => row[0]), "f4"),
    y: put(rows.map((row) => row[1]), "f4"),
    label: put(labels.map((label) => codes.get(label)), "u1"),
    learners: traces.map(({ predictions, membership, vote }) => ({
      said: put(predictions, "u1"),
      T: membership && {
        place: put(membership.rows.map(place), "i4"),
        label: column("label", "u1")(membership.rows),
        enters: column("enters", "i4")(membership.rows),
        leaves: column("leaves", "i4")(membership.rows),
      },
      ...vote,
    })),
  };
}
