// Attacks a service from a separate process. `attack.ts` starts this process and sends it the
// attack.
import { connect } from 'node:net';

/** A placeholder for 12 new hexadecimal digits, the same as in `attack.ts`. */
const NEW_WORD = '<a-new-word>';

/** What the attacker has sent and received so far. */
const done = {
  opened: 0,
  closed: 0,
  failed: 0,
  sentBytes: 0,
  receivedBytes: 0,
  answers: {},
  firstFault: undefined,
};

/** How often the attacker reports what it has done, in milliseconds. */
const REPORT_MS = 100;

let stopped = false;

process.once('message', (job) => {
  const { hostname, port } = new URL(job.url);
  run({ ...job, port: Number(port), host: hostname });
});
process.on('disconnect', () => process.exit());

/** Attacks until the next message. Then closes every connection and sends the last report. */
function run(job) {
  const sockets = new Set();
  for (let count = 0; count < job.connections; count += 1) open(job, sockets);
  const reports = setInterval(() => process.send(done), REPORT_MS);
  process.once('message', () => {
    stopped = true;
    clearInterval(reports);
    for (const socket of sockets) socket.destroy();
    process.send(done, () => process.disconnect());
  });
}

/**
 * Opens a connection that sends and reads as the job describes. If `reopening` is true, opens a new
 * connection when this connection ends.
 */
function open(job, sockets) {
  const receiving = {
    buffer: Buffer.allocUnsafe(job.reading === 'slowly' ? 1024 : 65_536),
    callback: (size, buffer) => receive(size, buffer),
  };
  const socket = connect({
    host: job.host,
    port: job.port,
    localAddress: job.from,
    onread: receiving,
  });
  let sent = 0;
  let answered = 0;
  let connected = false;
  let timer;
  sockets.add(socket);
  const send = (text) => {
    done.sentBytes += text.length;
    return socket.write(text, 'latin1');
  };
  const sendBlock = () => {
    const { text, requests } = nextBlock(job.blocks);
    sent += requests;
    return send(text);
  };
  const sendAlways = () => {
    while (!socket.destroyed && !stopped) if (!sendBlock()) return;
  };
  const receive = (size, buffer) => {
    done.receivedBytes += size;
    answered += countResponses(buffer.latin1Slice(0, size));
    if (job.sending === 'in turn' && answered >= sent && !stopped) sendBlock();
    if (job.reading !== 'slowly') return true;
    timer ??= setInterval(() => socket.resume(), 1000);
    return false;
  };
  const whenConnected = () => {
    connected = true;
    done.opened += 1;
    if (job.reading === 'nothing') socket.pause();
    if (job.closing === 'at once') return void socket.resetAndDestroy();
    if (job.sending === 'always') {
      socket.on('drain', sendAlways);
      sendAlways();
    } else if (job.sending === 'a byte a second') {
      const { text } = nextBlock(job.blocks);
      let next = job.begin ?? 0;
      send(text.slice(0, next));
      timer = setInterval(() => next < text.length && send(text[next++]), 1000);
    } else if (job.sending !== 'nothing') sendBlock();
  };
  socket.on('connect', whenConnected);
  socket.on('error', () => undefined); // the service may reset the connection after a refusal
  socket.on('close', () => {
    clearInterval(timer);
    sockets.delete(socket);
    done[connected ? 'closed' : 'failed'] += 1;
    if (job.reopening === true && !stopped)
      setTimeout(() => open(job, sockets), connected ? 0 : 20);
  });
}

let turn = 0;

/**
 * Returns the next bytes to send, with placeholders replaced, and the number of requests in these
 * bytes.
 */
function nextBlock(blocks) {
  const { text, requests } = blocks[turn % blocks.length];
  turn += 1;
  if (!text.includes(NEW_WORD)) return { text, requests };
  const pieces = text.split(NEW_WORD);
  const prefix = turn.toString(16).padStart(6, '0');
  return {
    text: pieces
      .map((piece, part) =>
        part === 0 ? piece : `${prefix}${part.toString(16).padStart(6, '0')}${piece}`,
      )
      .join(''),
    requests,
  };
}

/** Counts the responses that begin in a piece of the received data. Returns their number. */
function countResponses(text) {
  let count = 0;
  for (let at = text.indexOf('HTTP/1.1 '); at >= 0; at = text.indexOf('HTTP/1.1 ', at + 9)) {
    const status = text.slice(at + 9, at + 12);
    done.answers[status] = (done.answers[status] ?? 0) + 1;
    if (status === '500') done.firstFault ??= text.slice(at, at + 1000);
    count += 1;
  }
  return count;
}
