import { linesOf } from '../core/text/lines.ts';
import { entryOf, type Entry } from './reader.ts';

/** The output of `pdnsutil list-tsig-keys`: a line with name, algorithm and secret for each key. */
export function readPdnsutilLines(text: string): Entry[] {
  return eachLine(text, (content, line) => {
    const [name, algorithm, secret, ...rest] = content.split(/\s+/);
    if (name === undefined || algorithm === undefined || secret === undefined || rest.length > 0) {
      return { line, problem: 'the line must have a name, an algorithm and a secret' };
    }
    return entryOf({ line }, { name, algorithm, secret });
  });
}

/** The format of `-y` and of key files of Knot's tools: `hmac-sha256:name:secret` on each line. */
export function readColonLines(text: string): Entry[] {
  return eachLine(text, (content, line) => {
    const [algorithm, name, secret, ...rest] = content.split(':');
    if (algorithm === undefined || name === undefined || secret === undefined || rest.length > 0) {
      return { line, problem: 'the line must be `algorithm:name:secret`' };
    }
    return entryOf({ line }, { name: name.trim(), algorithm: algorithm.trim(), secret });
  });
}

function eachLine(text: string, read: (content: string, line: number) => Entry): Entry[] {
  return linesOf(text).flatMap((raw, index) => {
    const content = raw.trim();
    return content === '' || content.startsWith('#') ? [] : [read(content, index + 1)];
  });
}
