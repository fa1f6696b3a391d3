import { setupSteps } from '../../brands/setup.ts';
import { anyText, enumeration, integer } from '../../core/field.ts';
import { described, list, responseObject } from '../../core/object.ts';
import { allPages } from '../../core/pages.ts';
import { getResource } from '../../resources/operations/collection.ts';
import { nameServer, type NameServer } from '../../resources/name-server.ts';
import { DEFAULT_POOL_ID, pool } from '../../resources/pool.ts';
import { zone } from '../../resources/zone.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { shellWord } from '../../core/text/shell-word.ts';
import { defineAction } from '../../resources/operations/action.ts';

export const SETUP = responseObject({
  steps: described(
    list(
      responseObject({
        title: described(anyText(), 'Where, and what to do.'),
        text: described(anyText(), 'The commands to run, or the lines to add.'),
      }),
    ),
    'The steps, in order, for Debian.',
  ),
  later: described(anyText(), 'How to add a zone later.'),
  more_zones: described(
    integer(0),
    'The number of zones of the pool without entries in the steps.',
  ),
});

/** Returns what to run and to write so that a name server gets its keys. Contains no secret. */
export const nameServerSetup = defineAction({
  path: `/v2/${nameServer.collection}/{id}/setup`,
  method: 'GET',
  right: `${nameServer.collection}:update`,
  isLong: true,
  operationId: 'get_nameserver_setup',
  summary: 'Get the steps to set up a name server',
  description:
    'Returns the configuration of the name server, and of the agent or the process of the service that delivers its keys, as far as the service can know it. The steps have the entries of the zones of the pool: of the first 20, or with `zones=all` of all. They contain no secret.',
  type: nameServer,
  parameters: {
    zones: {
      ...enumeration(['first', 'all']),
      description: 'Whether the steps have the entries of the first 20 zones, or of all.',
      example: 'all',
      isOptional: true,
    },
  },
  response: {
    kind: described(SETUP, 'The steps.'),
    schemaName: 'NameServerSetup',
    description: 'The steps.',
    examples: {
      one: {
        summary: 'One step.',
        value: {
          steps: [
            {
              title: 'On the host: check the requirements, and start the agent.',
              text: 'systemctl enable --now tsigil-agent',
            },
          ],
          later: '# To add a zone later, create it in Tsigil first.',
          more_zones: 0,
        },
      },
    },
  },
  async run({ dependencies, context, id, parameters, base, slicer }) {
    const { store } = dependencies;
    const found = await getResource(dependencies, nameServer, context.caller, id);
    const server = found as NameServer; // safe: the type is `nameServer`
    const conditions = [{ field: 'pool_id', test: '=', value: server.pool_id }] as const;
    const names: string[] = [];
    for await (const page of allPages(store, zone, { conditions, sortField: 'name' })) {
      names.push(...page.map(({ name }) => comparisonForm(name)));
      if (slicer.isOver()) await slicer.next();
    }
    const its = (await store.get(pool, server.pool_id))?.name ?? server.pool_id;
    const flag = server.pool_id === DEFAULT_POOL_ID ? '' : ` --pool ${shellWord(its)}`;
    const createZone = `tsigil zone create example.net. --email hostmaster@example.net${flag}`;
    const known = { ...server, pool: its, zones: names, url: base, createZone };
    const { steps, later, left } = setupSteps(known, parameters.zones === 'all');
    return { steps, later, more_zones: left };
  },
});
