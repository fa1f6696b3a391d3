import type { ActionBody } from '../../resources/operations/action.ts';
import type { Kind } from '../../core/field.ts';
import type { ResourceType } from '../../core/resource.ts';
import { argumentsOfBody, optionsOfBody, readBody, type OwnFlags } from '../flags/action-flags.ts';
import type { CommandDefinition, CommonFlags, Run } from '../flags/command.ts';
import { referredId } from '../flags/references.ts';
import { callFor, type Connection } from '../service/client.ts';
import { findId, withHints } from '../service/resource-requests.ts';

interface Answered extends Run<string, GivenFlags> {
  readonly connection: Connection;
}

type GivenFlags = CommonFlags & Readonly<Record<string, unknown>>;

/** A command that sends the one request of an action, and prints the response. */
interface ActionCommand<R> extends Omit<CommandDefinition, 'argument' | 'run'> {
  /** The method and the path. `{id}` is the id of a resource of the type `about`. */
  readonly request: `${'GET' | 'POST'} /${string}`;
  readonly about?: ResourceType;
  readonly body?: ActionBody<object>;
  /** The arguments and flags that differ from what the kinds of their members say, by member. */
  readonly own?: OwnFlags;
  readonly response: Kind<R>;
  /** Prints the response. Throws `CommandError` if it is bad news. */
  print(response: R, answered: Answered): Promise<void> | void;
}

/** Returns a command, with an argument or a flag for each member of the body. */
export function actionCommand<R>(action: ActionCommand<R>): CommandDefinition {
  const { request, about, body, own = {}, response, print, ...command } = action;
  const [method = '', path = ''] = request.split(' ');
  return {
    ...command,
    ...(about === undefined
      ? {}
      : { argument: [`<${about.noun}>`, `id or name of the ${about.noun}`] }),
    ...(body === undefined
      ? {}
      : { others: argumentsOfBody(body, own), options: Object.values(optionsOfBody(body, own)) }),
    async run(run: Run<string, GivenFlags>) {
      const connection = await run.connect();
      const members = body && readBody(body, await givenMembers(connection, body, own, run));
      const send = (id = '') =>
        callFor(response, connection, method, path.replace('{id}', id), members);
      const answer = await (about === undefined
        ? send()
        : withHints(about, async () => send(await findId(connection, about, run.argument))));
      await print(answer, { ...run, connection });
    },
  };
}

/** Returns the members of a body whose arguments and flags are given, with ids in place of names. */
async function givenMembers(
  connection: Connection,
  body: ActionBody,
  own: OwnFlags,
  { flags, others }: Run<string, GivenFlags>,
): Promise<Readonly<Record<string, unknown>>> {
  const { required = [] } = body.kind.schema;
  const members = Object.fromEntries<unknown>(
    required.map((name, index) => [name, others[index]] as const),
  );
  for (const [name, option] of Object.entries(optionsOfBody(body, own))) {
    const given = flags[option.attributeName()];
    const type = own[name]?.refersTo;
    members[name] =
      type === undefined || typeof given !== 'string'
        ? given
        : await withHints(type, () => referredId(connection, type, given));
  }
  return members;
}

export function columnsIn({ schema }: Kind, member: string): readonly string[] {
  return Object.keys(schema.properties?.[member]?.items?.properties ?? {});
}
