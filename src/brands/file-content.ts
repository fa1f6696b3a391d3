import { randomBytes } from 'node:crypto';
import { rightsOf } from './brand.ts';
import { grantsOf, type DesiredState } from './desired-state.ts';
import { canonicalKey, type Key } from '../formats/key.ts';
import { KeyFileError } from '../formats/reader.ts';
import { eachInSlices, nextIfOver, type Slicer } from '../core/scheduling/slicer.ts';
import { readKeysOf, type FileServer, type StampForm } from './file-server.ts';
import { withoutHeader } from './include-file.ts';

const COMMENT: StampForm = {
  pattern: /^# Stamp: ([0-9a-f]{16})\n/m,
  write: (stamp) => `# Stamp: ${stamp}\n`,
};

/** The comment with the names of removed keys that have secrets no one knows. */
const DISABLED = '# Disabled, because other lines name these keys: ';

export interface FileKeys {
  readonly state: DesiredState;
  /** Tsigil's keys that stay in the file although the state does not have them. */
  readonly stayingKeys: readonly Key[];
  /** Removed keys whose names other lines need, with random secrets and without rights. */
  readonly disabledKeys: readonly Key[];
}

/**
 * Returns the content of Tsigil's file. If only the stamp would change, and `former` has a known one,
 * returns `former`.
 */
export async function renderContent(
  server: FileServer,
  header: string,
  { state, stayingKeys, disabledKeys }: FileKeys,
  former: string,
  slicer: Slicer,
): Promise<string> {
  const { brand, stamp: stampForm = COMMENT } = server;
  const parts = disabledKeys.length === 0 ? [] : [disabledLine(disabledKeys)];
  const lists = grantsOf(state, {
    rights: rightsOf(brand),
    zoneRights: server.zoneRights ?? rightsOf(brand),
    lists: server.lists(former),
    otherNames: new Set(stayingKeys.map(({ name }) => name)),
  });
  await nextIfOver(slicer);
  const rendered = server.render([...state.keys, ...stayingKeys, ...disabledKeys], lists);
  await eachInSlices(slicer, rendered, (part) => parts.push(part));
  await nextIfOver(slicer);
  const content = parts.join('');
  await nextIfOver(slicer);
  const { stamps = [] } = state;
  const [line = '', carried] = stampForm.pattern.exec(former) ?? [];
  const isKnown = carried !== undefined && (stamps.includes(carried) || stamps[0] === undefined);
  if (isKnown && former === `${header}\n${line}${content}`) return former;
  const stamp = stamps[0] ?? randomBytes(8).toString('hex');
  return `${header}\n${stampForm.write(stamp)}${content}`;
}

export function stampIn({ stamp = COMMENT }: FileServer, content: string): string | undefined {
  return stamp.pattern.exec(content)?.[1];
}

export function plainContent({ stamp = COMMENT }: FileServer, content: string): string {
  return withoutHeader(content).replace(stamp.pattern, '');
}

function disabledLine(keys: readonly Key[]): string {
  return `${DISABLED}${keys.map(({ name }) => name).join(' ')}\n`;
}

export function disabledIn(content: string): ReadonlySet<string> {
  const start = content.indexOf(`\n${DISABLED}`) + 1;
  if (start === 0) return new Set();
  const end = content.indexOf('\n', start);
  return new Set(content.slice(start + DISABLED.length, end).split(' '));
}

type KeysByName = ReadonlyMap<string, Key>;

export function keysByName(keys: readonly Key[]): KeysByName {
  return new Map(keys.map((key) => canonicalKey(key)).map((key) => [key.name, key]));
}

/** Reads the keys of Tsigil's file by name. Reading 10,000 keys takes 100 ms. */
export interface KeyReader {
  /** Returns no keys for a file that an operator has made invalid. */
  read(content: string, slicer: Slicer): Promise<KeysByName>;
  /** Notes the keys of a content, which is not read then. */
  note(content: string, keys: KeysByName): void;
}

export function createKeyReader(server: FileServer): KeyReader {
  let last: { readonly content: string; readonly keys: KeysByName } | undefined;
  return {
    async read(content, slicer) {
      if (last?.content === content) return last.keys;
      try {
        const keys = keysByName(await readKeysOf(server, content, slicer));
        last = { content, keys };
        return keys;
      } catch (error) {
        if (error instanceof KeyFileError) return new Map();
        throw error;
      }
    },
    note(content, keys) {
      last = { content, keys };
    },
  };
}
