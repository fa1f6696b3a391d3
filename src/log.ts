import { writeSync } from 'node:fs';
import { destination, pino, type DestinationStream } from 'pino';
import { withoutTokens } from './core/text/token-form.ts';
import type { Log } from './http/request-log.ts';

interface ServiceLog extends Log {
  setLevel(level: string): void;
}

/** The most attempts to write, 0.1 s apart, while the reader of the log does not read. */
const TRIES = 10;

/**
 * Creates a log of one JSON object per line on standard output, with all tokens masked. If the disk
 * is full, or the reader does not read, the service drops the line and continues. It logs the
 * number of lost lines once writing works again. `open` replaces standard output.
 */
export function createLog(
  level: string,
  open: (reportLost: (lines: number) => void) => DestinationStream = standardOutput,
): ServiceLog {
  const time = isoTime();
  const options = {
    level,
    base: {},
    timestamp: time,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const stream = open((lines) => log.warn({ lines }, 'log lines were lost'));
  const output = { write: (line: string) => stream.write(withoutTokens(line)) };
  const log = pino(options, output);
  let isOn = log.isLevelEnabled('info');
  return {
    // The service logs one line for each request. JSON.stringify formats the line in less than half
    // the time of pino. Warnings and errors use pino, because JSON.stringify does not format an
    // `Error`.
    info(details, message) {
      if (!isOn) return;
      const members = JSON.stringify(details).slice(1, -1);
      output.write(
        `{"level":"info"${time()}${members === '' ? '' : ','}${members},"msg":${JSON.stringify(message)}}\n`,
      );
    },
    warn: (details, message) => log.warn(details, message),
    error: (details, message) => log.error(details, message),
    setLevel(next) {
      log.level = next;
      isOn = log.isLevelEnabled('info');
    },
  };
}

/** Returns the `time` member in ISO 8601 and UTC. Formats at most one time per millisecond. */
function isoTime(): () => string {
  let last = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== last) {
      last = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/**
 * Writes the lines of one turn of the event loop in one write. After lost lines, calls `reportLost`
 * with their number once a write succeeds.
 */
function standardOutput(reportLost: (lines: number) => void): DestinationStream {
  let lines: string[] = [];
  let lost = 0;
  let failing = false;
  let tries = 0;
  const output = destination({
    dest: 1,
    sync: true,
    retryEAGAIN: () => !failing && (tries += 1) < TRIES,
  });
  output.on('write', (bytes: number) => {
    if (bytes === 0) return; // another attempt follows
    failing = false;
    tries = 0;
  });
  output.on('error', (error: Error) => {
    if (!failing) reportFailure(error);
    failing = true;
  });
  const flush = () => {
    const waiting = lines;
    lines = [];
    if (failing) output.write(''); // retries the write that failed
    if (failing) {
      lost += waiting.length;
      return;
    }
    if (waiting.length > 0) output.write(waiting.join(''));
    if (lost === 0) return;
    const missing = lost;
    lost = 0;
    reportLost(missing);
  };
  process.on('exit', () => {
    flush();
    flush(); // the first flush may have logged lost lines
  });
  return {
    write(line) {
      if (lines.length === 0) queueMicrotask(flush);
      lines.push(line);
    },
  };
}

function reportFailure({ message }: Error): void {
  try {
    writeSync(2, `tsigil: The log cannot be written: ${message}\n`);
  } catch {
    // Standard error may be on the same full disk.
  }
}
