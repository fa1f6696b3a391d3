import { writeSync } from 'node:fs';
import { destination, pino, type DestinationStream } from 'pino';
import { withoutTokens } from './domain/model/token-form.ts';
import type { Log } from './http/request-log.ts';

/** How often a line is tried, a tenth of a second apart, while the reader of the log takes nothing. */
const TRIES = 10;

/**
 * The service's log: one JSON object a line on standard output, from `level` upwards, each with what `fields` holds. When no lines can be
 * written, because the disk is full or nobody reads, the service goes on without them, and says how many were lost when they can again. Tokens
 * are masked in every line, wherever they come from.
 */
export function createLog(level: string, fields: Readonly<Record<string, unknown>>): Log {
  const time = isoTime();
  const options = { level, base: fields, timestamp: time, formatters: { level: (label: string) => ({ level: label }) } };
  const output = standardOutput((lines) => log.warn({ lines }, 'lines of the log were lost'));
  const log = pino(options, output);
  const isOn = log.isLevelEnabled('info');
  const start = `,${JSON.stringify(fields).slice(1, -1)}`.replace(/^,$/, '');
  return {
    // Each request has such a line. JSON.stringify writes it in less than half the time, in the same form; it writes no errors.
    info(given, message) {
      if (!isOn) return;
      const members = JSON.stringify(given).slice(1, -1);
      output.write(`{"level":"info"${time()}${start}${members === '' ? '' : ','}${members},"msg":${JSON.stringify(message)}}\n`);
    },
    warn: (given, message) => log.warn(given, message),
    error: (given, message) => log.error(given, message),
  };
}

/** The time of a line: ISO 8601 in UTC, made into text once for each millisecond. */
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

/** Standard output, to which lines that are logged together are written together. `tellLost` hears how many lines it did not take once it takes some. */
function standardOutput(tellLost: (lines: number) => void): DestinationStream {
  let lines: string[] = [];
  let lost = 0;
  let failing = false;
  let tries = 0;
  const output = destination({ dest: 1, sync: true, retryEAGAIN: () => !failing && (tries += 1) < TRIES });
  output.on('write', (bytes: number) => {
    if (bytes === 0) return; // another try
    failing = false;
    tries = 0;
  });
  output.on('error', (error: Error) => {
    if (!failing) complain(error);
    failing = true;
  });
  const flush = () => {
    const some = lines;
    lines = [];
    if (failing) output.write(''); // tries once more what it holds back since it failed
    if (failing) {
      lost += some.length;
      return;
    }
    if (some.length > 0) output.write(withoutTokens(some.join('')));
    if (lost === 0) return;
    const missing = lost;
    lost = 0;
    tellLost(missing);
  };
  process.on('exit', () => {
    flush();
    flush(); // the first may have told of lost lines
  });
  return {
    write(line) {
      if (lines.length === 0) queueMicrotask(flush);
      lines.push(line);
    },
  };
}

/** Says on standard error why the log ends. That may be on the same disk. */
function complain({ message }: Error): void {
  try {
    writeSync(2, `tsigil: The log cannot be written: ${message}\n`);
  } catch {
    // There is nobody left to tell.
  }
}
