import type { ChangeContext, Dependencies } from './change.ts';
import type { Parameter } from './list-query.ts';
import type { Recording } from '../../core/recording.ts';
import { invalidObject, ServiceError, type ErrorCode } from '../../core/errors.ts';
import type { Kind, ValueOf } from '../../core/field.ts';
import type { Resource, ResourceType } from '../../core/resource.ts';
import { shorten } from '../../core/text/token-form.ts';
import type { Slicer } from '../../core/scheduling/slicer.ts';

interface ActionExample<T = unknown> {
  readonly summary: string;
  readonly value: T;
}

/** Examples by name. A request example and the example of its response have the same name. */
type Examples<T> = Readonly<Record<string, ActionExample<T>>>;

export interface ActionBody<B = unknown> {
  readonly kind: Kind<B>;
  readonly schemaName: string;
  /** The word for the body in errors, as in "Invalid list". */
  readonly what: string;
  readonly examples: Examples<unknown>;
  /** A maximum larger than that of all requests. The service runs one such request at a time. */
  readonly maxBytes?: number;
}

export interface ActionResponse<R extends object = object> {
  readonly kind: Kind<R>;
  readonly schemaName: string;
  readonly description: string;
  readonly examples: Examples<R>;
}

interface ActionFile {
  readonly text: string;
  readonly fileName: string;
}

interface ActionFiles {
  readonly description: string;
  /** The extensions of the names of all files. */
  readonly extensions: readonly string[];
}

/** A response as JSON lines: the only one, or for callers that accept `application/x-ndjson`. */
export interface ActionLines<
  D extends Dependencies = never,
  B = unknown,
  P extends Parameters = Parameters,
> {
  readonly description: string;
  readonly example: object;
  /** Yields the lines in parts. Reads each part after the caller has received the previous part. */
  readonly run: (request: ActionRequest<D, B, P>) => AsyncIterable<readonly object[]>;
}

interface ActionParameter<T = unknown> extends Kind<T> {
  readonly description: string;
  readonly example: string | number;
  readonly isOptional?: boolean;
}

type Parameters = Readonly<Record<string, ActionParameter>>;

type ParameterValue<P extends ActionParameter> = P extends { readonly isOptional: true }
  ? ValueOf<P> | undefined
  : ValueOf<P>;

/** What every action gets. The actions of a feature may need more. */
export interface ActionDependencies extends Dependencies {
  readonly recording: Recording;
}

export interface ActionRequest<
  D extends Dependencies = ActionDependencies,
  B = unknown,
  P extends Parameters = Parameters,
> {
  readonly dependencies: D;
  readonly context: ChangeContext;
  /** The base URL of the service as this caller uses it, without a trailing slash. */
  readonly base: string;
  /** The id in the path. Empty if the path has no id. */
  readonly id: string;
  readonly parameters: { readonly [Name in keyof P]: ParameterValue<P[Name]> };
  readonly body: B;
  /** The tag of the state that the caller has. Only conditional actions use it. */
  readonly knownTag: string | undefined;
  /**
   * Returns whether the request expects this state of what it changes. Undefined if it expects none.
   * Only tagged actions use it.
   */
  readonly expects: ((state: object) => boolean) | undefined;
  /** Whether the caller may, and wants to, take keys from a name server that needs them. */
  readonly isForced: boolean;
  readonly slicer: Slicer;
  readonly connection: CallerConnection;
  /** The next page begins after `marker`. Without `marker`, no next page exists. */
  pageLinks(marker: string | undefined): PageLinks;
}

interface CallerConnection {
  /** Waits for something other than the database, which other requests can use meanwhile. */
  waitFor<T>(work: () => Promise<T>): Promise<T>;
  /** Returns a signal that aborts when the caller closes the connection. */
  disconnected(): AbortSignal;
}

interface PageLinks {
  readonly self: string;
  readonly next?: string;
}

export interface ActionGroup {
  readonly name: string;
  readonly description: string;
}

interface ActionBase<B, P extends Parameters> {
  /** The path in OpenAPI form. `{id}` is the id of a resource of `type`. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The right that callers need. Absent if any valid token is enough. */
  readonly right?: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly type: ResourceType;
  /** The action's group in the OpenAPI document. The default is the group of the type. */
  readonly group?: ActionGroup;
  /** Whether the service runs the action as long work: at most two requests at a time. */
  readonly isLong?: boolean;
  /** The errors of this action, except errors that any path, body or request can cause. */
  readonly errors?: readonly ErrorCode[];
  readonly body?: ActionBody<B>;
  /** The query parameters. If absent, the query is ignored. */
  readonly parameters?: P;
}

/**
 * An API operation other than create, list, get, update and delete. It needs the dependencies `D`.
 * Without arguments, the type includes every action, but permits only to describe it.
 */
export type Action<
  D extends Dependencies = never,
  B = unknown,
  P extends Parameters = Parameters,
  R extends object = object,
> = ActionBase<B, P> &
  (
    | {
        readonly response: ActionResponse<R & { readonly tag: string }>;
        /** `run` returns undefined if the caller has the state that `tag` identifies. */
        readonly isConditional: true;
        readonly run: (
          request: ActionRequest<D, B, P>,
        ) => Promise<(R & { readonly tag: string }) | undefined>;
      }
    | {
        readonly response: ActionResponse<R>;
        /** What the entity tag covers, and a change may require unchanged. Absent: no tag. */
        tagged?(response: R): object;
        readonly lines?: ActionLines<D, B, P>;
        readonly run: (request: ActionRequest<D, B, P>) => Promise<R>;
      }
    | {
        /** The response has the resource that `run` returns, its location and its warnings. */
        readonly creates: { readonly description: string };
        readonly run: (request: ActionRequest<D, B, P>) => Promise<Resource>;
      }
    | {
        readonly empty: { readonly description: string };
        readonly run: (request: ActionRequest<D, B, P>) => Promise<void>;
      }
    | { readonly lines: ActionLines<D, B, P> }
    | {
        readonly file: ActionFiles;
        readonly run: (request: ActionRequest<D, B, P>) => Promise<ActionFile>;
      }
  );

/** Returns the function that defines actions with the dependencies `D`. */
export function actionsWith<D extends Dependencies>() {
  return <B, const P extends Parameters, R extends object>(
    definition: Action<D, B, P, R>,
  ): Action<D> => definition as Action<D>; // safe: `run` gets only what its own kinds have parsed
}

export const defineAction = actionsWith<ActionDependencies>();

/** Parses the body of a request. Throws `invalid_object` with every problem. */
export function readActionBody<B>(
  { kind, what }: Pick<ActionBody<B>, 'kind' | 'what'>,
  value: unknown,
): B {
  const parsed = kind.parse(value);
  if ('value' in parsed) return parsed.value;
  throw invalidObject(
    what,
    parsed.problems ?? [
      { path: [], message: `the body ${parsed.problem}`, validator: parsed.validator },
    ],
  );
}

/** Throws `bad_request` for a parameter that is unknown, repeated, absent or invalid. */
export function readActionParameters(
  definitions: Parameters,
  query: readonly Parameter[],
): Readonly<Record<string, unknown>> {
  const names = Object.keys(definitions);
  const stray = query.find(([name]) => !names.includes(name));
  if (stray !== undefined)
    throw new ServiceError(
      'bad_request',
      `Unknown parameter '${shorten(stray[0])}'. Use one of: ${names.join(', ')}`,
    );
  return Object.fromEntries(
    Object.entries(definitions).map(([name, kind]) => {
      const values = query.filter(([other]) => other === name).map(([, value]) => value);
      if (values.length > 1)
        throw new ServiceError('bad_request', `'${name}' is repeated. Give it once`);
      if (values.length === 0 && kind.isOptional === true) return [name, undefined];
      const parsed = kind.parse(values[0]);
      if ('problem' in parsed) throw new ServiceError('bad_request', `${name} ${parsed.problem}`);
      return [name, parsed.value];
    }),
  );
}
