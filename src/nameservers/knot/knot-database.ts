import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { knot as brand, NO_ADDRESS } from '../../domain/brands/knot.ts';
import {
  byMember,
  grantsOf,
  isSameSet,
  RIGHTS,
  withKept,
  type DesiredKey,
  type DesiredState,
} from '../../domain/delivery/desired-state.ts';
import { isSameKey, isSameMaterial, type Key } from '../../domain/key-formats/key.ts';
import { comparisonForm, nameForm } from '../../domain/text/dns-name.ts';
import {
  DriverError,
  nameTaken,
  requirements,
  unmet,
  type Difference,
  type Driver,
  type KeyReferences,
} from '../driver.ts';
import { knotControl, type KnotUnit } from './knot-control.ts';
import { keysOf, printedByKnot } from './knot-file.ts';

/** How long a transaction of another client may stay open before it counts as abandoned. */
const TRANSACTION_MS = 2000;
const RETRY_MS = 100;

interface Rule {
  readonly right: string;
  /** The names of its keys in comparison form. */
  readonly keys: ReadonlySet<string>;
  readonly addresses: readonly string[];
  readonly denies: boolean;
  readonly comment: string;
}

/** The rule whose comment has the stamp of the last delivery. */
const STAMPED = 'tsigil-transfer';
const STAMP = /^Tsigil stamp ([0-9a-f]{16})$/;

/** The comment of a removed key that has a secret no one knows, because other items name it. */
const DISABLED = 'Tsigil disabled';

/** What a configuration has, as far as it concerns keys. */
interface Present {
  readonly keys: ReadonlyMap<string, Key>;
  readonly disabled: ReadonlySet<string>;
  readonly rules: ReadonlyMap<string, Rule>;
  /** The keys that items of other programs name. Knot DNS then does not remove them. */
  readonly named: KeyReferences;
}

/** The differences between the server and a desired state, and the commands that resolve them. */
interface Plan {
  readonly keys: readonly DesiredKey[];
  readonly taken: readonly DesiredKey[];
  /** The names of the removed keys that stay without a known secret. */
  readonly disabled: readonly string[];
  readonly differences: readonly Difference[];
  readonly commands: readonly KnotUnit[];
}

/**
 * Creates the driver of a Knot server with a configuration database. The driver changes keys and
 * rules in one transaction. The rules have the same names as in a file. All keys in these rules are
 * Tsigil's.
 */
export function createKnotDatabase(controlSocket: string): Driver {
  /** Whether a transaction of this process may be open, because its connection failed. */
  let abandoned = false;

  /** The keys that items of other programs name, as last read. */
  let named: KeyReferences | undefined;

  const plan = (
    state: DesiredState,
    owned: ReadonlySet<string>,
    signal: AbortSignal,
    isComparison = false,
  ) =>
    knotControl(controlSocket, signal, async (connection) => {
      const read = (section: string) => connection.run({ command: 'conf-read', section });
      const keys = await read('key');
      const [acl, remote] = [valuesOf(await read('acl')), valuesOf(await read('remote'))];
      named = namedIn({ acl, remote });
      const disabled = disabledIn(keys);
      const present = { keys: keysOf(keys), disabled, rules: rulesOf(acl), named };
      return planOf(state, owned, present, isComparison);
    });

  /**
   * Runs the commands in one transaction. Returns false while another client has an open
   * transaction.
   */
  const transact = (commands: readonly KnotUnit[], isLast: boolean, signal: AbortSignal) =>
    knotControl(controlSocket, signal, async (connection) => {
      const abort = () => connection.run({ command: 'conf-abort' });
      if (abandoned || isLast) await abort();
      const begun = errorOf(await connection.run({ command: 'conf-begin' }));
      if (begun !== undefined && !isLast) return false;
      if (begun !== undefined) throw refused(begun, { command: 'conf-begin' });
      abandoned = true;
      for (const command of [...commands, { command: 'conf-commit' }]) {
        const error = errorOf(await connection.run(command));
        if (error === undefined) continue;
        await abort();
        abandoned = false;
        throw refused(error, command);
      }
      abandoned = false;
      return true;
    });

  return {
    async apply(state, owned, signal, intend) {
      const { keys, taken, disabled, commands } = await plan(state, owned, signal);
      const problems = taken.map((key) => nameTaken(brand, key));
      const result = { problems, ...(disabled.length === 0 ? {} : { disabled }) };
      if (commands.length === 0 && !abandoned) return { changed: false, ...result };
      await intend?.(keys);
      const end = Date.now() + TRANSACTION_MS;
      // The server serves one connection at a time, so each attempt uses a new connection.
      while (!(await transact(commands, Date.now() >= end, signal))) await pause(RETRY_MS);
      return { changed: commands.length > 0, ...result };
    },

    compare: async (state, owned, signal) => (await plan(state, owned, signal, true)).differences,

    // Each pass compares or applies, and thereby reads what names keys.
    references: () => Promise.resolve(named),

    stamp: (signal) =>
      knotControl(controlSocket, signal, async (connection) => {
        const unit = { command: 'conf-read', section: 'acl', id: STAMPED, item: 'comment' };
        const [found] = await connection.run(unit);
        return STAMP.exec(found?.data ?? '')?.[1];
      }),

    printed: (signal) => printedByKnot(controlSocket, signal),

    async check(signal) {
      const requirement = 'The control channel of Knot DNS accepts commands.';
      return requirements(requirement, async () => {
        const used = await knotControl(controlSocket, signal, async (connection) => {
          const read = (section: string) =>
            connection.run({ command: 'conf-read', section, item: 'acl' });
          return [...(await read('template')), ...(await read('zone'))];
        });
        const rule = "A template or a zone names the rule 'tsigil-transfer'.";
        if (used.some(({ data }) => data === 'tsigil-transfer'))
          return [{ requirement: rule, ok: true }];
        const message = "No template and no zone names the rule 'tsigil-transfer'.";
        const hint = "Run 'knotc conf-set' for the item `acl` of the template or of each zone.";
        return [unmet(rule, { message, hint })];
      });
    },
  };
}

function planOf(
  state: DesiredState,
  owned: ReadonlySet<string>,
  { keys: present, disabled: formerly, rules, named }: Present,
  isComparison: boolean,
): Plan {
  const ours = new Set([...owned, ...formerly]);
  for (const rule of rules.values()) for (const name of rule.keys) ours.add(name);
  const kept = (state.kept ?? []).filter(({ name }) => ours.has(name));
  const all = withKept({ ...state, kept }, present);
  const isTaken = (key: DesiredKey) => {
    const found = present.get(key.name);
    return found !== undefined && !ours.has(key.name) && !isSameKey(key, found);
  };
  const keys = all.filter((key) => !isTaken(key));
  const names = new Set(keys.map(({ name }) => name));
  const others = new Set(
    state.isHeld ? [...ours].filter((name) => !owned.has(name) && !names.has(name)) : [],
  );
  const listed = new Map([...rules].map(([id, { keys: members }]) => [id, [...members]]));
  const lists = new Map([...listed].filter(([id]) => /^tsigil-(?:transfer|update)\b/.test(id)));
  const granted = { zones: [], keys };
  const wanted = grantsOf(granted, { rights: RIGHTS, zoneRights: [], lists, others });
  const [before, after] = [byMember(listed), byMember(wanted)];
  const differences: Difference[] = [];
  const first: KnotUnit[] = [];
  for (const key of keys) {
    const { kind = 'changed', commands } = keyChange(key, present.get(key.name));
    first.push(...commands);
    if (formerly.has(key.name)) first.push(commented('conf-unset', key.name));
    if (commands.length > 0 || !isSameSet(before.get(key.name), after.get(key.name)))
      differences.push({ kind, key: key.name, message: MESSAGES[kind] });
  }
  const extra = [...present.keys()].filter(
    (name) => ours.has(name) && !names.has(name) && !others.has(name),
  );
  // A key that is no longer named stays until the next change, because no one has changed the keys.
  const stays = (name: string) => isComparison && formerly.has(name);
  const disabled = extra.filter((name) => named.has(name) || stays(name));
  for (const key of extra)
    if (!disabled.includes(key) || !formerly.has(key))
      differences.push({ kind: 'extra', key, message: MESSAGES.extra });
  const changes: KnotUnit[] = [];
  for (const [id, members] of wanted) {
    const commands = ruleCommands(id, new Set(members), rules.get(id));
    changes.push(...commands);
    if (commands.length > 0)
      differences.push({
        kind: 'other',
        message: `The rule '${id}' of Knot DNS differs from the desired rule.`,
      });
  }
  // A key must exist before a rule names it, and no rule may name a key that is removed.
  const last = extra.flatMap((name) => {
    if (!disabled.includes(name))
      return [{ command: 'conf-unset', section: 'key', id: `${name}.` }];
    if (formerly.has(name)) return [];
    const secret = randomBytes(32).toString('base64');
    const set = { command: 'conf-set', section: 'key', id: `${name}.`, item: 'secret' };
    return [{ ...set, data: secret }, commented('conf-set', name, DISABLED)];
  });
  const commands = [...first, ...changes, ...last];
  const [next, ...known] = state.stamps ?? [];
  const carried = STAMP.exec(rules.get(STAMPED)?.comment ?? '')?.[1] ?? '';
  const isStamped = next === undefined || carried === next || known.includes(carried);
  if (!isStamped)
    differences.push({ kind: 'other', message: 'Knot DNS lacks the stamp of the last delivery.' });
  if (next !== undefined && (commands.length > 0 || !isStamped))
    commands.push({
      command: 'conf-set',
      section: 'acl',
      id: STAMPED,
      item: 'comment',
      data: `Tsigil stamp ${next}`,
    });
  return { keys, taken: all.filter(isTaken), disabled, differences, commands };
}

const MESSAGES = {
  missing: 'Knot DNS lacks the key.',
  changed: 'Knot DNS has the key with another algorithm, secret, right or zone.',
  extra: 'Knot DNS still has the key.',
} as const;

function keyChange(
  key: DesiredKey,
  found: Key | undefined,
): { readonly kind?: 'missing' | 'changed'; readonly commands: readonly KnotUnit[] } {
  if (isSameMaterial(key, found)) return { commands: [] };
  const set = { command: 'conf-set', section: 'key', id: `${key.name}.` };
  const values = [
    { ...set, item: 'algorithm', data: key.algorithm },
    { ...set, item: 'secret', data: key.secret },
  ];
  return found === undefined
    ? { kind: 'missing', commands: [set, ...values] }
    : { kind: 'changed', commands: values };
}

/**
 * Returns the commands that change a rule. In Knot, a rule without keys matches every unsigned
 * request. Without keys, a rule of Tsigil therefore denies only an address from which no request
 * comes.
 */
function ruleCommands(id: string, wanted: ReadonlySet<string>, rule: Rule | undefined): KnotUnit[] {
  const right = id.startsWith('tsigil-update') ? 'update' : 'transfer';
  const of = (command: string, item?: string, data?: string): KnotUnit => ({
    command,
    section: 'acl',
    id,
    ...(item === undefined ? {} : { item }),
    ...(data === undefined ? {} : { data }),
  });
  const set = (item: string, data: string) => of('conf-set', item, data);
  const cleared = (item: string, present: string) =>
    present === '' ? [] : [of('conf-unset', item)];
  const found: Rule = rule ?? NO_RULE;
  const denies = wanted.size === 0;
  const addresses = denies ? [NO_ADDRESS] : [];
  return [
    ...(rule === undefined ? [of('conf-set')] : []),
    ...(found.right === right ? [] : [...cleared('action', found.right), set('action', right)]),
    ...[...wanted].filter((name) => !found.keys.has(name)).map((name) => set('key', `${name}.`)),
    ...[...found.keys]
      .filter((name) => !wanted.has(name))
      .map((name) => of('conf-unset', 'key', `${name}.`)),
    ...(found.addresses.join() === addresses.join()
      ? []
      : [
          ...cleared('address', found.addresses.join()),
          ...addresses.map((address) => set('address', address)),
        ]),
    ...(found.denies === denies ? [] : [set('deny', denies ? 'on' : 'off')]),
  ];
}

const NO_RULE: Rule = { right: '', keys: new Set(), addresses: [], denies: false, comment: '' };

type Items = Readonly<Record<string, readonly string[]>>;

/** Returns the values of each item in the response to `conf-read` of a section, by the id. */
function valuesOf(units: readonly KnotUnit[]): ReadonlyMap<string, Items> {
  const found = new Map<string, Record<string, string[]>>();
  let place: { readonly id: string; readonly item: string } | undefined;
  for (const { id, item, data } of units) {
    // Further values of an item come without the name of the item.
    if (item !== undefined) place = id === undefined ? undefined : { id, item };
    if (place === undefined || data === undefined) continue;
    const items = found.get(place.id) ?? {};
    items[place.item] = [...(items[place.item] ?? []), data];
    found.set(place.id, items);
  }
  return found;
}

/** Returns Tsigil's rules. */
function rulesOf(acl: ReadonlyMap<string, Items>): ReadonlyMap<string, Rule> {
  return new Map(
    [...acl]
      .filter(([id]) => isOwnRule(id))
      .map(([id, { key = [], address = [], action = [], deny = [], comment = [] }]) => [
        id,
        {
          right: action.join(),
          keys: new Set(key.map(comparisonForm)),
          addresses: address,
          denies: deny[0] === 'on',
          comment: comment[0] ?? '',
        },
      ]),
  );
}

function isOwnRule(id: string): boolean {
  return id.startsWith('tsigil-');
}

/** Returns the keys that items of other programs name, each with the first item. */
function namedIn(sections: Readonly<Record<string, ReadonlyMap<string, Items>>>): KeyReferences {
  const found = Object.entries(sections).flatMap(([section, entries]) =>
    [...entries].flatMap(([id, { key = [] }]) =>
      section === 'acl' && isOwnRule(id)
        ? []
        : key.map((name) => [nameForm(name), `${section}[${id}].key`] as const),
    ),
  );
  return new Map(found.toReversed()); // the first item counts
}

/** Returns the names of the keys whose comment says that no one knows their secrets. */
function disabledIn(keys: readonly KnotUnit[]): ReadonlySet<string> {
  return new Set(
    keys.flatMap(({ id, item, data }) =>
      item === 'comment' && data === DISABLED && id !== undefined ? [comparisonForm(id)] : [],
    ),
  );
}

/** Returns the command that sets or removes the comment of a key. */
function commented(command: string, name: string, data?: string): KnotUnit {
  const unit = { command, section: 'key', id: `${name}.`, item: 'comment' };
  return data === undefined ? unit : { ...unit, data };
}

function errorOf(units: readonly KnotUnit[]): string | undefined {
  return units.find(({ error }) => error !== undefined)?.error;
}

function refused(error: string, { command = '', section, item, id }: KnotUnit): DriverError {
  const place =
    section === undefined ? '' : ` for ${section}[${id}]${item === undefined ? '' : `.${item}`}`;
  return new DriverError(
    'refused_by_server',
    `Knot DNS refused '${command}'${place}: ${error}.`,
    "Run 'knotc conf-read' on the server, and read the log of Knot DNS.",
  );
}
