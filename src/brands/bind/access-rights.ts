import { entryOf, type Parts, type ReadIncluded } from '../../formats/reader.ts';
import { allTokens, controlUses, OF_SESSION, useOf } from '../../formats/read-bind.ts';
import type { Right } from '../../access/rights.ts';
import { nameForm } from '../../core/text/dns-name.ts';
import type {
  AccessList,
  DefinedKey,
  Reference,
  Requester,
  ServerConfiguration,
  ZoneAccess,
} from '../../access/access.ts';
import {
  ANY,
  blockOf,
  matchListOf,
  named,
  nameOf,
  textOfStatement,
  treeOf,
  wordsOf,
  type FindList,
  type MatchList,
  type Statement,
} from './access-lists.ts';
import { placesOf, type PlaceOf } from '../../access/places.ts';
import { policyOf } from './access-policy.ts';
import { checkNames, checkStatements } from './access-syntax.ts';

interface BindRights {
  /** Without the findings, and with references only to the keys that must not get grants. */
  readonly rights: ServerConfiguration;
  readonly top: readonly Statement[];
  readonly find: FindList;
  readonly at: PlaceOf;
  readonly uses: ReturnType<typeof controlUses>;
}

/** Reads what follows for grants, from the text of `readBindAccess`. Throws `KeyFileError`. */
export function readBindRights(text: string, include: ReadIncluded, path: string): BindRights {
  const at = placesOf(path);
  const unread: string[] = [];
  const tokens = allTokens(text, (statement) => {
    const files = include(statement);
    if (files.length === 0) unread.push(`'${statement.pattern}' (${at(statement)})`);
    return files;
  });
  const top = treeOf(tokens);
  checkStatements(top);
  checkNames(tokens);
  const views = named(top, 'view').filter((view) => isOfInternet(view));
  const keys = [
    ...keysIn(top, at),
    ...views.flatMap((view) => keysIn(blockOf(view), at, wordsOf(view)[1])),
  ];
  const find = findListIn(top);
  const scopes = views.length > 0 ? viewsOf(views, keys, find) : [serverOf(top, keys)];
  const zones = zonesOf({ scopes, find, at, keys, ...defaultsIn(top) });
  const uses = controlUses(tokens);
  const references = keys.flatMap(({ key, place }): Reference[] => {
    const use = useOf(uses, key.name, place.replace(/:\d+$/, ''));
    const role = use === OF_SESSION ? 'session' : 'control';
    return use === undefined ? [] : [{ key: nameForm(key.name), role, place }];
  });
  const isKeysOnly = named(top, 'key').length === top.length;
  const rights = { keys, zones, references, unread, findings: [], isKeysOnly };
  return { rights, top, find, at, uses };
}

function last(statements: readonly Statement[], name: string): Statement | undefined {
  return named(statements, name).at(-1);
}

const NO_STATEMENT: Statement = { origin: { line: 0 }, parts: [], tokens: [] };

function valueOf(statements: readonly Statement[], name: string): string | undefined {
  return wordsOf(last(statements, name) ?? NO_STATEMENT)[1];
}

/** Returns whether a zone or view has the class IN, which is the default. */
function isOfInternet(statement: Statement): boolean {
  const [, , type = 'in'] = wordsOf(statement);
  return /^in$/i.test(type);
}

function keysIn(statements: readonly Statement[], at: PlaceOf, view?: string): DefinedKey[] {
  return named(statements, 'key').flatMap((statement): DefinedKey[] => {
    const [, name = ''] = wordsOf(statement);
    const parts: Parts = { name };
    for (const each of blockOf(statement)) {
      const member = nameOf(each);
      if (member === 'algorithm' || member === 'secret') parts[member] = wordsOf(each)[1] ?? '';
    }
    const entry = entryOf(statement.origin, parts);
    const place = at(statement.origin);
    return 'key' in entry
      ? [{ key: entry.key, place, ...(view === undefined ? {} : { view }) }]
      : [];
  });
}

/** Returns the lists of `acl` statements, which may be defined after their use. */
function findListIn(top: readonly Statement[]): FindList {
  const statements = new Map(
    named(top, 'acl').map((each) => [(wordsOf(each)[1] ?? '').toLowerCase(), each]),
  );
  const lists = new Map<string, MatchList>();
  const find: FindList = (name) => {
    const known = lists.get(name);
    const statement = statements.get(name);
    if (known !== undefined || statement === undefined) return known;
    statements.delete(name); // a list that contains itself, which BIND refuses
    const list = matchListOf(blockOf(statement), find);
    lists.set(name, list);
    return list;
  };
  return find;
}

/** The server without views, or one of its views: which requests reach its zones. */
interface Scope {
  readonly name?: string;
  /** By name in comparison form. */
  readonly zones: ReadonlyMap<string, Statement>;
  /** The statements that apply to zones without their own. */
  readonly defaults: readonly Statement[];
  readonly keyNames: ReadonlySet<string>;
  /** The lists that select this view or a view before it. */
  readonly clients: readonly MatchList[];
  /** Why it is unknown which requests reach the view. */
  readonly doubt?: string;
  reaches(requester: Requester): boolean;
}

function namesOf(keys: readonly DefinedKey[]): Set<string> {
  return new Set(keys.map(({ key }) => nameForm(key.name)));
}

function zonesIn(statements: readonly Statement[]): Map<string, Statement> {
  const zones = named(statements, 'zone').filter(isOfInternet);
  return new Map(zones.map((zone) => [nameForm(wordsOf(zone)[1] ?? ''), zone]));
}

function serverOf(top: readonly Statement[], keys: readonly DefinedKey[]): Scope {
  const keyNames = namesOf(keys);
  return { zones: zonesIn(top), defaults: [], keyNames, clients: [], reaches: () => true };
}

/** Returns the views. A request is in the first view whose `match-clients` permits it. */
function viewsOf(
  views: readonly Statement[],
  keys: readonly DefinedKey[],
  find: FindList,
): Scope[] {
  const scopes: Scope[] = [];
  const selectors: ((requester: Requester) => boolean)[] = [];
  let clients: readonly MatchList[] = [];
  let doubt: string | undefined;
  for (const view of views) {
    const statements = blockOf(view);
    const [, name = ''] = wordsOf(view);
    const list = last(statements, 'match-clients');
    const own = list === undefined ? ANY : matchListOf(blockOf(list), find);
    const keyNames = namesOf(keys.filter((key) => key.view === undefined || key.view === name));
    const other = ['match-destinations', 'match-recursive-only'].find((option) => {
      const statement = last(statements, option);
      return statement !== undefined && !/ (?:no|\{ any; \})$/i.test(textOfStatement(statement));
    });
    clients = [...clients, own];
    const ownDoubt =
      own.doubt ?? (other && `\`${other}\` selects the view, which grants cannot express`);
    doubt ??= ownDoubt;
    const earlier = [...selectors];
    // A view does not know the keys of other views, and treats their requests as unsigned.
    const selects = (requester: Requester) =>
      own.decide(withKnown(requester, keyNames))?.yes === true;
    const reaches = (requester: Requester) =>
      !earlier.some((each) => each(requester)) && selects(requester);
    // Requests that may not be in this view may be in a later one, which is open to them.
    if (ownDoubt === undefined) selectors.push(selects);
    const defaults = statements.filter((each) => nameOf(each) !== 'zone');
    const common = { name, zones: zonesIn(statements), defaults, keyNames, clients, reaches };
    scopes.push(doubt === undefined ? common : { ...common, doubt });
  }
  return scopes;
}

function withKnown(requester: Requester, keyNames: ReadonlySet<string>): Requester {
  const { key } = requester;
  return key === undefined || keyNames.has(key) ? requester : { ...requester, key: undefined };
}

interface Defaults {
  readonly options: readonly Statement[];
  readonly templates: readonly Statement[];
}

function defaultsIn(top: readonly Statement[]): Defaults {
  const options = named(top, 'options').flatMap(blockOf);
  return { options, templates: named(top, 'template') };
}

interface Sources extends Defaults {
  readonly scopes: readonly Scope[];
  readonly keys: readonly DefinedKey[];
  readonly find: FindList;
  readonly at: PlaceOf;
}

/** The types of zones that have no data to transfer or update. */
const WITHOUT_DATA = /^(?:delegation-only|forward|hint|redirect|static-stub|stub)$/i;
const SECONDARY = /^(?:mirror|secondary|slave)$/i;

function zonesOf(sources: Sources): ZoneAccess[] {
  const { scopes, at } = sources;
  const lists = new Map<string, AccessList>();
  return scopes.flatMap((scope) =>
    [...scope.zones].flatMap(([name, zone]): ZoneAccess[] => {
      const source = sourceOf(name, zone, scope, scopes);
      if (source === undefined) return [];
      const place = at(zone.origin);
      const { type, policy } = decisionsOf(source, sources);
      const own = {
        name,
        place,
        lists: listsOf(scope, source, { ...sources, lists, name, place }),
        named: namedIn(source, sources),
        ...(policy === undefined || SECONDARY.test(type) ? {} : { policy: at(policy.origin) }),
      };
      return [scope.name === undefined ? own : { ...own, view: scope.name }];
    }),
  );
}

interface Source {
  readonly zone: Statement;
  readonly scope: Scope;
}

/** Returns the zone itself or, for `in-view`, the zone of the other view, unless it has no data. */
function sourceOf(
  name: string,
  zone: Statement,
  scope: Scope,
  scopes: readonly Scope[],
): Source | undefined {
  const own = blockOf(zone);
  const other = valueOf(own, 'in-view');
  if (other === undefined) {
    return WITHOUT_DATA.test(valueOf(own, 'type') ?? '') ? undefined : { zone, scope };
  }
  const target = scopes.find((each) => each.name === other);
  const found = target?.zones.get(name);
  // BIND refuses `in-view` for a zone that itself has `in-view`.
  const isEnd = found === undefined || last(blockOf(found), 'in-view') !== undefined;
  return isEnd || target === undefined ? undefined : { zone: found, scope: target };
}

interface ZoneSources extends Sources {
  /** The lists by their text, so that zones with the same list share it. */
  readonly lists: Map<string, AccessList>;
  readonly name: string;
  readonly place: string;
}

function listsOf(
  reached: Scope,
  { zone, scope }: Source,
  sources: ZoneSources,
): ZoneAccess['lists'] {
  const { type, policy, transfer, update, forwarding } = decisionsOf({ zone, scope }, sources);
  const isOpen = transfer === undefined && !/^mirror$/i.test(type);
  const updateList = () => {
    if (SECONDARY.test(type)) return forwarding && listOf(reached, forwarding, sources, FORWARDED);
    if (policy !== undefined) return policyList(reached, policy, sources);
    return update && listOf(reached, update, sources);
  };
  return {
    transfer: isOpen
      ? listOf(reached, EVERYONE, sources)
      : transfer && listOf(reached, transfer, sources, transportOf(transfer)),
    update: updateList(),
  };
}

function namedIn(source: Source, sources: Sources): string[] {
  const { transfer, update } = decisionsOf(source, sources);
  return [transfer, update].flatMap((list) =>
    list === undefined ? [] : blockOf(list).flatMap((element) => wordsOf(element)),
  );
}

function decisionsOf({ zone, scope }: Source, { templates, options }: Defaults) {
  const own = blockOf(zone);
  const template = valueOf(own, 'template');
  const defaults = templates.filter((each) => wordsOf(each)[1] === template).flatMap(blockOf);
  // The nearest statement replaces the others.
  const nearest = (name: string) =>
    [own, defaults, scope.defaults, options]
      .map((statements) => last(statements, name))
      .find((statement) => statement !== undefined);
  const type = valueOf([...defaults, ...own], 'type') ?? '';
  return {
    type,
    policy: last([...defaults, ...own], 'update-policy'),
    // A mirror zone inherits no list, and refuses transfers without its own.
    transfer: /^mirror$/i.test(type)
      ? (last(own, 'allow-transfer') ?? last(defaults, 'allow-transfer'))
      : nearest('allow-transfer'),
    update: nearest('allow-update'),
    forwarding: nearest('allow-update-forwarding'),
  };
}

export interface DecidedZone {
  readonly name: string;
  readonly statement: Statement;
  readonly lists: Readonly<Record<Right, Statement | undefined>>;
}

/** Returns the zones with data of a configuration, in every view. */
export function decidedZonesIn(top: readonly Statement[]): DecidedZone[] {
  const views = named(top, 'view').filter((view) => isOfInternet(view));
  const find: FindList = () => undefined;
  const scopes = views.length > 0 ? viewsOf(views, [], find) : [serverOf(top, [])];
  const defaults = defaultsIn(top);
  return scopes.flatMap((scope) =>
    [...scope.zones].flatMap(([name, statement]): DecidedZone[] => {
      if (sourceOf(name, statement, scope, scopes)?.zone !== statement) return [];
      const { type, policy, transfer, update } = decisionsOf({ zone: statement, scope }, defaults);
      const isPrimary = policy === undefined && !SECONDARY.test(type);
      return [{ name, statement, lists: { transfer, update: isPrimary ? update : undefined } }];
    }),
  );
}

const FORWARDED = 'the server forwards updates of this zone to its primary';

/** BIND 9.18 permits transfers to everyone unless a statement restricts them. */
const EVERYONE: Statement = {
  ...NO_STATEMENT,
  parts: [[{ ...NO_STATEMENT, parts: [{ kind: 'word', text: 'any', line: 0, start: 0, end: 0 }] }]],
};

function transportOf(statement: Statement): string | undefined {
  const limit = wordsOf(statement).slice(1).join(' ');
  return limit === '' ? undefined : `the list permits requests only over '${limit}'`;
}

function listOf(
  scope: Scope,
  statement: Statement,
  { lists, find, at, place: zonePlace }: ZoneSources,
  limit?: string,
): AccessList {
  const id = `${scope.name ?? ''}\n${limit ?? ''}\n${textOfStatement(statement)}`;
  const known = lists.get(id);
  if (known !== undefined) return known;
  const own = matchListOf(blockOf(statement), find);
  const matching = [...scope.clients, own];
  const keys = [...new Set(matching.flatMap((list) => list.keys))];
  const place = statement === EVERYONE ? zonePlace : at(statement.origin);
  const doubt = own.doubt ?? scope.doubt;
  const reason = limit ?? doubt;
  const list: AccessList = {
    ranges: matching.flatMap(({ ranges }) => ranges),
    namesLocal: matching.some(({ namesLocal }) => namesLocal),
    keys,
    keysBeforeEveryone: own.keys.filter(
      (key) => own.decide({ address: NO_ADDRESS, key })?.byKey === true,
    ),
    place,
    ...(doubt === undefined ? {} : { doubt }),
    ...(reason === undefined ? {} : { inexpressible: new Map(keys.map((key) => [key, reason])) }),
    permits: (requester) => isServed(scope, requester) && own.decide(requester)?.yes === true,
  };
  lists.set(id, list);
  return list;
}

/** An address that only `any` matches. */
const NO_ADDRESS = { family: 4, value: -1n } as const;

/** Returns whether a request reaches the scope, which refuses signatures of keys unknown to it. */
function isServed(scope: Scope, requester: Requester): boolean {
  return (
    scope.reaches(requester) && (requester.key === undefined || scope.keyNames.has(requester.key))
  );
}

function policyList(
  scope: Scope,
  policy: Statement,
  { name, keys, at }: ZoneSources,
): AccessList | undefined {
  if (blockOf(policy).length === 0) return undefined; // `local`, for the session key
  const rules = policyOf(policy, name, at(policy.origin), [...namesOf(keys)]);
  const inexpressible = new Map(rules.inexpressible);
  for (const key of scope.doubt === undefined ? [] : rules.keys)
    inexpressible.set(key, scope.doubt ?? '');
  return {
    ...rules,
    ranges: scope.clients.flatMap(({ ranges }) => ranges),
    namesLocal: scope.clients.some(({ namesLocal }) => namesLocal),
    keys: [...new Set([...rules.keys, ...scope.clients.flatMap((list) => list.keys)])],
    inexpressible,
    permits: (requester) => isServed(scope, requester) && rules.permits(requester),
  };
}
