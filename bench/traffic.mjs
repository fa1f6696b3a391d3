import { randomBytes } from 'node:crypto';

/**
 * Kinds of traffic, by name. Each takes what the scenario says and returns how one request is made and how its answer is checked.
 *
 * @typedef {{ method: string, path: string, body?: string }} Sent
 * @typedef {{ make(): Sent | undefined, check(status: number, body: string, sent: Sent): boolean }} Traffic
 */

/** The ids of what `create` has created, for `patch` and `remove`, by collection. @type {Map<string, string[]>} */
const created = new Map();

/** Forgets what was created in earlier scenarios. */
export function forgetCreated() {
  created.clear();
}

const idsOf = (collection) => created.get(collection) ?? created.set(collection, []).get(collection);
/** How many created entries mixed traffic keeps, so that changes and removals never meet. */
const SPARE = 2000;

const run = randomBytes(3).toString('hex');
let serial = 0;

/** @type {Record<string, (args: any) => Traffic>} */
export const TRAFFIC = {
  /** Asks for `paths` in turn; every answer must be exactly what stands in `bodies` at the same place. */
  get({ paths, bodies }) {
    let next = 0;
    const sent = paths.map((path, index) => ({ method: 'GET', path, expected: bodies[index] }));
    return {
      make: () => sent[(next += 1) % sent.length],
      check: (status, body, { expected }) => status === 200 && body === expected,
    };
  },
  /** Creates TLD entries under new names. */
  create() {
    const ids = idsOf('tlds');
    return {
      make() {
        const name = `bench-${run}-${(serial += 1)}`;
        return { method: 'POST', path: '/v2/tlds', name, body: JSON.stringify({ name, description: 'made under load' }) };
      },
      check(status, body, { name }) {
        if (status !== 201) return false;
        const row = JSON.parse(body);
        ids.push(row.id);
        return row.name === name && row.description === 'made under load' && row.updated_at === null;
      },
    };
  },
  /** Changes what `create` has created, one after the other and over again. */
  patch() {
    const ids = idsOf('tlds');
    let next = 0;
    return {
      make() {
        const description = `change ${(next += 1)}`;
        return { method: 'PATCH', path: `/v2/tlds/${ids[next % Math.ceil(ids.length / 2)]}`, description, body: JSON.stringify({ description }) };
      },
      check: (status, body, { path, description }) =>
        status === 200 && body.includes(`"description":"${description}"`) && path.endsWith(JSON.parse(body).id),
    };
  },
  /** Removes what `create` has created, each once; to be run for an amount, not for a time. */
  remove() {
    const ids = idsOf('tlds');
    return {
      make: () => ({ method: 'DELETE', path: `/v2/tlds/${ids.pop()}` }),
      check: (status, body) => status === 204 && body === '',
    };
  },
  /** What a day looks like: six reads of one resource, a list, and a creation, a change and a removal, over and over. */
  mixed({ paths, bodies, list }) {
    const [get, create, patch, remove] = [TRAFFIC.get({ paths, bodies }), TRAFFIC.create(), TRAFFIC.patch(), TRAFFIC.remove()];
    const page = TRAFFIC.get({ paths: [list.path], bodies: [list.body] });
    const cycle = [get, get, create, get, page, get, patch, get, remove, get];
    const ids = idsOf('tlds');
    let next = 0;
    return {
      make() {
        const wanted = cycle[(next += 1) % cycle.length];
        // Changes keep away from what is about to be removed, which is taken from the other end.
        const kind = (wanted === patch || wanted === remove) && ids.length < SPARE ? create : wanted;
        return { ...kind.make(), kind };
      },
      check: (status, body, sent) => sent.kind.check(status, body, sent),
    };
  },
  /** Creates zones under `tlds`. */
  zones({ tlds }) {
    return {
      make() {
        const name = `bench-${run}-${(serial += 1)}.${tlds[serial % tlds.length]}.`;
        return { method: 'POST', path: '/v2/zones', name, body: JSON.stringify({ name, email: 'hostmaster@example.org' }) };
      },
      check: (status, body, { name }) => status === 201 && JSON.parse(body).name === name,
    };
  },
  /** Sends the same body again and again; the answer must be exactly `expected`. */
  post({ path, body, expected }) {
    const sent = { method: 'POST', path, body };
    return { make: () => sent, check: (status, answer) => status === 200 && answer === expected };
  },
};
