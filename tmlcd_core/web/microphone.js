// The browser's microphone and sound files as int16 at 16 kHz.

import { toInt16 } from "../viz/wav.js";
import { RATE, Resampler } from "./word_core.js";

const BLOCK = 2048; // samples of a callback
const START = 4000; // ms that the browser may take: without a loudspeaker some wait for ever
const WISHES = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };

// Open the microphone: `onSound` gets Int16Arrays, `onEnd` is called if the device goes. Returns a function that closes it.
// A ScriptProcessorNode needs no code from a blob, which the page's policy forbids.
export async function openMicrophone(onSound, onEnd) {
  if (!navigator.mediaDevices?.getUserMedia)
    throw new Error("This browser gives a page from here no microphone. Use https, a sound file, or the takes inside.");
  const stream = await navigator.mediaDevices.getUserMedia({ audio: WISHES });
  const context = new AudioContext();
  const close = () => {
    for (const track of stream.getTracks()) track.stop();
    context.close().catch(() => {});
  };
  try {
    const isRunning = context.resume().then(() => true);
    if (!(await Promise.race([isRunning, new Promise((resume) => setTimeout(resume, START))])))
      throw new Error("The browser does not start its sound. Connect a loudspeaker or headphones, then press Listen again.");
    const resampler = new Resampler(context.sampleRate);
    const tap = context.createScriptProcessor(BLOCK, 1, 1);
    tap.onaudioprocess = ({ inputBuffer }) => onSound(resampler.push(inputBuffer.getChannelData(0)));
    context.createMediaStreamSource(stream).connect(tap).connect(context.destination);
    for (const track of stream.getTracks()) track.onended = onEnd;
    openMicrophone.tap = tap; // some browsers stop a node that nobody holds
    return close;
  } catch (error) {
    close();
    throw error;
  }
}

// Why there is no microphone, in a sentence.
export function microphoneError({ name, message }) {
  const other = "Use a sound file, or the takes inside.";
  if (name === "NotAllowedError") return `The browser does not allow the microphone for this page. Allow it in the address bar, or: ${other}`;
  if (name === "NotFoundError") return `There is no microphone. ${other}`;
  if (name === "NotReadableError") return `Another program uses the microphone. Close it, or: ${other}`;
  return message;
}

// Sound of a file, mono.
export async function readSound(file) {
  const context = new OfflineAudioContext(1, 1, RATE);
  let sound;
  try {
    sound = await context.decodeAudioData(await file.arrayBuffer()); // also resamples
  } catch {
    throw new Error(`${file.name} is not a sound that this browser can read. Try a wav or mp3 file.`);
  }
  const mono = new Float32Array(sound.length);
  for (let c = 0; c < sound.numberOfChannels; c++)
    sound.getChannelData(c).forEach((value, i) => (mono[i] += value / sound.numberOfChannels));
  return toInt16(mono);
}

let speaker;
export function playSound(samples) {
  speaker ??= new AudioContext();
  const buffer = speaker.createBuffer(1, samples.length, RATE);
  buffer.copyToChannel(Float32Array.from(samples, (value) => value / 32_768), 0);
  const source = new AudioBufferSourceNode(speaker, { buffer });
  source.connect(speaker.destination);
  source.start();
}
