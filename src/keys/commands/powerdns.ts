import { anyText, array, type Kind } from '../../core/field.ts';
import { optional, responseObject } from '../../core/object.ts';
import { POWERDNS_SETTINGS, readPowerdnsAccess } from '../../brands/powerdns/access.ts';
import { entryOf } from '../../formats/reader.ts';
import { parseJson } from '../../net/http.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { reach } from '../../cli/service/send-request.ts';
import { definedKeys, type FoundKey } from './import-plan.ts';

const HINT =
  'Check that the API is enabled (api=yes, webserver=yes) and permits this address (webserver-allow-from).';

const KEYS = array(responseObject({ id: anyText() }), 0, Infinity);
const KEY = responseObject({
  name: optional(anyText()),
  algorithm: optional(anyText()),
  key: optional(anyText()),
});

const ZONES = array(responseObject({ id: anyText(), name: anyText() }), 0, Infinity);
const METADATA = array(
  responseObject({ kind: anyText(), metadata: array(anyText(), 0, Infinity) }),
  0,
  Infinity,
);
const SETTINGS = array(responseObject({ name: anyText(), value: anyText() }), 0, Infinity);

/**
 * Reads the keys of a PowerDNS server, and who may do what there, through its API. Reads each key
 * separately, because the list has no secrets. Throws `CommandError`.
 */
export async function readPowerdns(url: string, apiKey: string) {
  const read = <T>(kind: Kind<T>, path: string) =>
    get(kind, `${url}/api/v1/servers/localhost/${path}`, apiKey);
  const keys: FoundKey[] = [];
  for (const { id } of await read(KEYS, 'tsigkeys')) {
    const { name, algorithm, key } = await read(KEY, `tsigkeys/${encodeURIComponent(id)}`);
    const members = Object.entries({ name, algorithm, secret: key });
    const parts = Object.fromEntries(members.filter(([, part]) => part !== undefined));
    keys.push({ place: id, found: entryOf({ line: 0 }, parts) });
  }
  const settings = (await read(SETTINGS, 'config')).filter(({ name }) =>
    Object.hasOwn(POWERDNS_SETTINGS, name),
  );
  const zones = [];
  for (const { id, name } of await read(ZONES, 'zones')) {
    const metadata = await read(METADATA, `zones/${encodeURIComponent(id)}/metadata`);
    zones.push({ name, metadata: new Map(metadata.map((each) => [each.kind, each.metadata])) });
  }
  const configuration = readPowerdnsAccess({
    keys: definedKeys(keys),
    zones,
    settings: new Map(settings.map(({ name, value }) => [name, value])),
  });
  return { keys, unread: [], configuration };
}

async function get<T>(kind: Kind<T>, url: string, apiKey: string): Promise<T> {
  const headers = { accept: 'application/json', 'x-api-key': apiKey };
  const { origin } = new URL(url);
  const response = await reach(
    { name: `PowerDNS at '${origin}'`, hint: HINT },
    (client, deadline) => client.send({ method: 'GET', url, headers }, deadline),
  );
  if (response.status === 401)
    throw new CommandError(
      EXIT.unreachable,
      'PowerDNS rejected the API key',
      'Set PDNS_API_KEY to the value of api-key in the configuration of PowerDNS.',
    );
  if (response.status !== 200)
    throw new CommandError(
      EXIT.refused,
      `PowerDNS returned ${response.status} ${response.statusText}`,
    );
  const parsed = kind.parse(parseJson(response.text));
  if ('value' in parsed) return parsed.value;
  throw new CommandError(
    EXIT.refused,
    `The response from '${origin}' is not from PowerDNS: the body ${parsed.problem}`,
    'Set --from-powerdns to the URL of the PowerDNS API.',
  );
}
