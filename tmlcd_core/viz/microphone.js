// The browser's microphone as frames of FRAME seconds, and a WAV file of frames.

const PATIENCE = 8000; // ms for the browser to start its audio system

// Runs in an audio worklet, independent of a busy page: mixes to mono and splits samples into frames.
const TAP = `registerProcessor("tap", class extends AudioWorkletProcessor {
  constructor() { super(); this.frame = new Float32Array(Math.round(sampleRate * ${FRAME})); this.filled = 0; }
  process([channels]) {
    if (channels.length === 0) return true;
    for (let i = 0; i < channels[0].length; i++) {
      let sum = 0;
      for (const channel of channels) sum += channel[i];
      this.frame[this.filled++] = sum / channels.length;
      if (this.filled === this.frame.length) { this.port.postMessage(this.frame.slice()); this.filled = 0; }
    }
    return true;
  }
});`;

// Open the microphone and pass its frames on; `close` releases it.
async function openMicrophone(onFrame, onEnd) {
  if (!navigator.mediaDevices?.getUserMedia) throw new DOMException("no secure context", "insecure");
  const wishes = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const stream = await navigator.mediaDevices.getUserMedia({ audio: wishes });
  const permission = await microphonePermission();
  const allowed = permission?.state;
  let context;
  const close = () => {
    if (permission) permission.onchange = null;
    for (const track of stream.getTracks()) track.stop();
    context?.close().catch(() => {});
  };
  try {
    context = new AudioContext();
    const silent = new Promise((_, refuse) => setTimeout(() => refuse(new DOMException("", "silent")), PATIENCE));
    await Promise.race([context.resume(), silent]);
    const source = context.createMediaStreamSource(stream);
    const tap = await makeTap(context, onFrame);
    const silence = new GainNode(context, { gain: 0 }); // a node runs only if it is connected to the destination
    source.connect(tap).connect(silence).connect(context.destination);
    // Firefox may say "prompt" while the microphone is allowed this once.
    const withdrawn = () => permission && permission.state !== "granted" && permission.state !== allowed;
    if (permission) permission.onchange = () => withdrawn() && onEnd("withdrawn");
    for (const track of stream.getTracks()) track.onended = () => onEnd(withdrawn() ? "withdrawn" : "ended");
    context.onstatechange = () => context.state === "interrupted" && onEnd("hidden");
    return { rate: context.sampleRate, close };
  } catch (fault) {
    close();
    throw fault;
  }
}

// State of the permission, which changes when the user withdraws it; null where the browser does not tell.
async function microphonePermission() {
  try {
    return await navigator.permissions.query({ name: "microphone" });
  } catch {
    return null;
  }
}

async function makeTap(context, onFrame) {
  const address = URL.createObjectURL(new Blob([TAP], { type: "text/javascript" }));
  try {
    await context.audioWorklet.addModule(address);
    const node = new AudioWorkletNode(context, "tap");
    node.port.onmessage = ({ data }) => onFrame(data);
    return node;
  } catch {
    // A proxy's Content-Security-Policy may forbid code from a blob; the older ScriptProcessorNode needs none.
    const node = context.createScriptProcessor(1024, 1, 1);
    const size = Math.round(context.sampleRate * FRAME);
    let rest = new Float32Array(0);
    node.onaudioprocess = ({ inputBuffer }) => {
      const fresh = inputBuffer.getChannelData(0);
      const all = new Float32Array(rest.length + fresh.length);
      all.set(rest);
      all.set(fresh, rest.length);
      let at = 0;
      for (; at + size <= all.length; at += size) onFrame(all.slice(at, at + size));
      rest = all.slice(at);
    };
    return node;
  } finally {
    URL.revokeObjectURL(address);
  }
}

function wav(frames, rate) {
  const samples = new Float32Array(frames.reduce((sum, frame) => sum + frame.length, 0));
  let at = 0;
  for (const frame of frames) {
    samples.set(frame, at);
    at += frame.length;
  }
  return wavFile(toInt16(samples), rate);
}

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}
