import { randomBytes } from 'node:crypto';

/**
 * Traffic types, by name. Each type takes the arguments of the scenario, and returns two functions.
 * `make` returns the next request, and `check` returns whether the response is correct.
 *
 * @typedef {{ method: string, path: string, body?: string }} Sent
 * @typedef {{ make(): Sent | undefined, check(status: number, body: string, sent: Sent): boolean }} Traffic
 */

/**
 * The ids of the entries that `create` created, by the service that has them. `patch` and `remove`
 * use them.
 * @type {Map<string, string[]>}
 */
const created = new Map();

/** Forgets the ids of the resources that earlier scenarios created. */
export function forgetCreated() {
  created.clear();
}

const idsOf = (service) => created.get(service) ?? created.set(service, []).get(service);

/**
 * Below this number of created entries, mixed traffic replaces changes and deletions with
 * creations. Mixed traffic therefore never changes an entry that it is deleting.
 */
const SPARE = 2000;

const run = randomBytes(3).toString('hex');
let serial = 0;

/** @type {Record<string, (args: any) => Traffic>} */
export const TRAFFIC = {
  /**
   * Reads `paths` in rotation. Each response body must equal the member of `bodies` with the same
   * index.
   */
  get({ paths, bodies }) {
    let next = 0;
    const sent = paths.map((path, index) => ({ method: 'GET', path, expected: bodies[index] }));
    return {
      make: () => sent[(next += 1) % sent.length],
      check: (status, body, { expected }) => status === 200 && body === expected,
    };
  },
  /** Creates TLD entries with new names. `service` tells apart the entries of two services. */
  create({ service = '' } = {}) {
    const ids = idsOf(service);
    return {
      make() {
        const name = `bench-${run}-${(serial += 1)}`;
        return {
          method: 'POST',
          path: '/v2/tlds',
          name,
          body: JSON.stringify({ name, description: 'created under load' }),
        };
      },
      check(status, body, { name }) {
        if (status !== 201) return false;
        const row = JSON.parse(body);
        ids.push(row.id);
        return (
          row.name === name && row.description === 'created under load' && row.updated_at === null
        );
      },
    };
  },
  /**
   * Creates keys with new names. The other members of the keys are `members`. `service` tells apart
   * the keys that `remove` can delete.
   */
  createKeys({ service, ...members }) {
    const ids = service === undefined ? [] : idsOf(service);
    return {
      make() {
        const name = `bench-${run}-${(serial += 1)}`;
        return {
          method: 'POST',
          path: '/v2/tsigkeys',
          name,
          body: JSON.stringify({ ...members, name }),
        };
      },
      check(status, body, { name }) {
        if (status !== 201) return false;
        const row = JSON.parse(body);
        ids.push(row.id);
        return row.name === name && row.secret === members.secret;
      },
    };
  },
  /** Changes the first half of the entries that `create` created, in rotation. */
  patch({ service = '' } = {}) {
    const ids = idsOf(service);
    let next = 0;
    return {
      make() {
        const description = `change ${(next += 1)}`;
        return {
          method: 'PATCH',
          path: `/v2/tlds/${ids[next % Math.ceil(ids.length / 2)]}`,
          description,
          body: JSON.stringify({ description }),
        };
      },
      check: (status, body, { path, description }) =>
        status === 200 &&
        body.includes(`"description":"${description}"`) &&
        path.endsWith(JSON.parse(body).id),
    };
  },
  /**
   * Deletes the entries that `create` or `createKeys` created, each once. The job must have an
   * `amount`, not `seconds`.
   */
  remove({ service = '', collection = 'tlds' } = {}) {
    const ids = idsOf(service);
    return {
      make: () => ({ method: 'DELETE', path: `/v2/${collection}/${ids.pop()}` }),
      check: (status, body) => status === 204 && body === '',
    };
  },
  /** Repeats six reads of one resource, a list, a creation, a change and a deletion. */
  mixed({ paths, bodies, list }) {
    const [get, create, patch, remove] = [
      TRAFFIC.get({ paths, bodies }),
      TRAFFIC.create(),
      TRAFFIC.patch(),
      TRAFFIC.remove(),
    ];
    const page = TRAFFIC.get({ paths: [list.path], bodies: [list.body] });
    const cycle = [get, get, create, get, page, get, patch, get, remove, get];
    const ids = idsOf('');
    let next = 0;
    return {
      make() {
        const wanted = cycle[(next += 1) % cycle.length];
        // Changes use the first half of the entries. Deletions use the last entries, so that no
        // change targets a deleted entry.
        const kind =
          (wanted === patch || wanted === remove) && ids.length < SPARE ? create : wanted;
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
        return {
          method: 'POST',
          path: '/v2/zones',
          name,
          body: JSON.stringify({ name, email: 'hostmaster@example.org' }),
        };
      },
      check: (status, body, { name }) => status === 201 && JSON.parse(body).name === name,
    };
  },
  /** Sends the same body repeatedly. Each response body must equal `expected`. */
  post({ path, body, expected }) {
    const sent = { method: 'POST', path, body };
    return {
      make: () => sent,
      check: (status, received) => status === 200 && received === expected,
    };
  },
};
