// Voice activity: finds the words in a stream of frames of 10 ms, by their level above the room.
//
// The room is the level of the last seconds without a word; it is learned in the first second and follows later.
// A word begins a few decibels above the louder part of the room and ends with a pause. A sound without a pause is no
// word (a tone, music, people talking): it becomes part of the room. In a room that is nearly as loud as the words
// nothing begins, nor with a sound much softer than the last words (another person). The server has the last word: it looks for the word in each take again.

const FRAME = 0.01; // s of a frame
const RUMBLE = 200; // Hz: lower frequencies are ignored (hum, steps, constant offset)
const SMOOTH = 3; // frames of the moving average of the power
const ROOM = 300; // frames of the room
const FIRST = 100; // frames of the room at the start …
const UNEVEN = 10; // … in which the louder part may have this many times the level of the softer part (20 dB)
const LONGEST_START = 500; // frames after which the room counts as learned in any case
const FAINT = 0.002; // of full scale (-54 dB): lowest level of a word, even in a quiet room
const ABOVE_SOFT = 3.5; // level of a word, in levels of the softer part of the room (20 % quantile): 11 dB
const ABOVE_LOUD = 2.2; // and in levels of its louder part (80 % quantile): 7 dB
const STAY = 0.63; // of the level at which a word begins: it ends below (-4 dB)
const ONSET = 4; // frames in a row above the threshold with which a word begins
const CALM = 12; // frames in a row below it before the next word may begin
const PAUSE = 22; // frames below the threshold with which a word ends; the stop in "eight" is shorter
const SHORTEST = 8; // frames of a word; shorter sounds are clicks
const LONGEST = 150; // frames of a word; longer sounds are no words
const LOUD_ROOM = 0.5; // of the level of words (-6 dB): a room above this is too loud
const LOUD_WORD = 0.08; // of full scale: assumed level of words before the first one
const REMEMBERED = 5; // words whose level is remembered
const SOFTEST = 0.3; // of the loudest of them (-10 dB): lowest level of the next word …
const KEPT = 300; // … for so many frames; then this level
const RELAX = 0.9931; // falls by this factor with each frame (6 dB a second), so that one may move away

class VoiceActivity {
  constructor() {
    this.words = []; // levels of the last words
    this.reset();
  }

  // Forget the room, not the level of words.
  reset() {
    this.last = this.once = this.twice = 0; // last sample: raw, and after each high-pass
    this.powers = []; // power of the last frames
    this.room = []; // level of the last frames without a word
    this.heard = 0; // frames so far …
    this.wordAt = 0; // … at the end of the last word
    this.now = 0; // level of the last frame
    this.calm = 0; // frames below the threshold since the last sound, up to CALM
    this.learned = false; // the room is known
    this.word = null; // levels of the word in progress
    this.above = this.below = 0; // frames in a row
  }

  // Take in one frame; return "room" when the room is known, "start" and "end" of a word, "click" or "noise" for a
  // sound that was no word, else "".
  push(frame) {
    const level = (this.now = this.level(frame));
    this.heard += 1;
    if (!this.learned) return this.learn(level);
    const threshold = this.threshold * (this.word ? STAY : 1);
    this.above = level > threshold ? this.above + 1 : 0;
    this.below = level > threshold ? 0 : this.below + 1;
    if (this.word) return this.inWord(level);
    this.add(level);
    if (level <= threshold) this.calm = Math.min(CALM, this.calm + 1);
    else if (this.calm < CALM) this.calm = 0;
    if (this.above < ONSET || this.calm < CALM || this.tooLoud) return "";
    this.word = this.room.splice(-ONSET);
    this.below = 0;
    return "start";
  }

  inWord(level) {
    this.word.push(level);
    const spoken = this.word.length - this.below;
    if (this.below < PAUSE && this.word.length < LONGEST + PAUSE) return "";
    const word = this.word.slice(0, spoken);
    const rest = this.word.slice(spoken);
    this.word = null;
    this.calm = this.below; // the pause counts: the next word may follow at once
    if (spoken > LONGEST) {
      word.forEach((value) => this.add(value));
      return "noise";
    }
    rest.forEach((value) => this.add(value));
    if (spoken < SHORTEST) return "click";
    this.words.push(Math.sqrt(word.reduce((sum, value) => sum + value * value, 0) / word.length));
    if (this.words.length > REMEMBERED) this.words.shift();
    this.wordAt = this.heard;
    return "end";
  }

  learn(level) {
    this.room.push(level);
    if (this.room.length > FIRST) this.room.shift();
    if (this.room.length < FIRST) return "";
    const [soft, loud] = [this.quantile(0.1), this.quantile(0.9)];
    if (loud > Math.max(FAINT, UNEVEN * soft) && this.heard < LONGEST_START) return "";
    this.learned = true;
    this.calm = CALM;
    return "room";
  }

  add(level) {
    this.room.push(level);
    if (this.room.length > ROOM) this.room.shift();
  }

  quantile(share) {
    const sorted = this.room.slice().sort((a, b) => a - b);
    return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  }

  get threshold() {
    const faint = Math.max(FAINT, this.softest);
    return Math.max(faint, ABOVE_SOFT * this.quantile(0.2), ABOVE_LOUD * this.quantile(0.8));
  }

  get softest() {
    const waited = Math.max(0, this.heard - this.wordAt - KEPT);
    return SOFTEST * Math.max(0, ...this.words) * RELAX ** waited;
  }

  get roomLevel() {
    return Math.sqrt(this.room.reduce((sum, value) => sum + value * value, 0) / Math.max(1, this.room.length));
  }

  get tooLoud() {
    const sorted = this.words.slice().sort((a, b) => a - b);
    return this.roomLevel > LOUD_ROOM * (sorted[Math.floor(sorted.length / 2)] ?? LOUD_WORD);
  }

  // Level of a frame without its low frequencies, smoothed over SMOOTH frames.
  level(frame) {
    let sum = 0;
    const keep = 1 / (1 + (2 * Math.PI * RUMBLE * FRAME) / frame.length); // two high-passes of first order in series
    for (const value of frame) {
      const once = keep * (this.once + value - this.last);
      this.twice = keep * (this.twice + once - this.once);
      this.once = once;
      this.last = value;
      sum += this.twice * this.twice;
    }
    this.powers.push(sum / frame.length);
    if (this.powers.length > SMOOTH) this.powers.shift();
    return Math.sqrt(this.powers.reduce((a, b) => a + b) / this.powers.length);
  }
}
