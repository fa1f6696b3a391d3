import type { AuditTrail } from '../audit/trail.ts';
import type { AgentDelivery } from '../delivery/agent-protocol.ts';
import type { DeliveryStatus } from '../delivery/ports.ts';
import type { Encryption } from '../encryption/status.ts';
import type { ChangeContext, Dependencies } from '../operations/change.ts';
import type { Parameter } from '../operations/list-query.ts';
import type { Recording } from '../operations/recording.ts';
import { invalidObject, ServiceError, type ErrorCode } from '../model/errors.ts';
import type { Kind, ValueOf } from '../model/field.ts';
import type { ResourceType } from '../model/resource.ts';
import { shorten } from '../text/token-form.ts';
import type { Slicer } from '../scheduling/slicer.ts';

/** An example in the OpenAPI document. */
export interface ActionExample<T = unknown> {
  /** A description of the example, in a sentence. */
  readonly summary: string;
  readonly value: T;
}

/** Examples by name. The examples of a request and of its response have the same name. */
type Examples<T> = Readonly<Record<string, ActionExample<T>>>;

/** The JSON body of requests. */
export interface ActionBody<B = unknown> {
  readonly kind: Kind<B>;
  /** The name of its schema in the OpenAPI document. */
  readonly schemaName: string;
  /** The name of the body in errors. It follows "Invalid". */
  readonly what: string;
  readonly examples: Examples<unknown>;
  /** The maximum size of the body in bytes, if it is larger than for other requests. */
  readonly maxBytes?: number;
}

/** A JSON response, which is an object. `run` returns a value of `kind`. */
export interface ActionResponse<R extends object = object> {
  readonly kind: Kind<R>;
  /** The name of its schema in the OpenAPI document. */
  readonly schemaName: string;
  /** A description of the response, in a sentence. */
  readonly description: string;
  readonly examples: Examples<R>;
}

/** Text for the caller to save as a file. */
export interface ActionFile {
  readonly text: string;
  readonly mediaType: string;
  readonly fileName: string;
}

/** A response that is a file. */
export interface ActionFiles {
  /** A description of the file, in a sentence. */
  readonly description: string;
  /** Returns examples of every variant of the file, by name. */
  examples(): Examples<ActionFile>;
}

/** A response as JSON lines, for callers that accept `application/x-ndjson`. */
export interface ActionLines<B = unknown, P extends Parameters = Parameters> {
  /** A description of the lines, in a sentence. */
  readonly description: string;
  /** An example of a line. */
  readonly example: object;
  /** Returns the lines in parts. The next part is requested once the caller has read this one. */
  run(request: ActionRequest<B, P>): AsyncIterable<readonly object[]>;
}

/** A query parameter. */
export interface ActionParameter<T = unknown> extends Kind<T> {
  readonly description: string;
  readonly example: string;
  /** Whether requests may omit it. Its value is then undefined. */
  readonly isOptional?: boolean;
}

type Parameters = Readonly<Record<string, ActionParameter>>;

type ParameterValue<P extends ActionParameter> = P extends { readonly isOptional: true }
  ? ValueOf<P> | undefined
  : ValueOf<P>;

/** The dependencies of actions: those of the operations on resources, and the other parts. */
export interface ActionDependencies extends Dependencies {
  /** Operations on the keys that encrypt secrets. */
  readonly encryption: Encryption;
  readonly audit: AuditTrail;
  /** The delivery by agents. */
  readonly agents: AgentDelivery;
  readonly delivery: DeliveryStatus;
  readonly recording: Recording;
}

/** The parameters of an action's `run`. */
export interface ActionRequest<B = unknown, P extends Parameters = Parameters> {
  readonly dependencies: ActionDependencies;
  /** The caller, and the id of the request. */
  readonly context: ChangeContext;
  /** The id in the path. Empty if the path has none. */
  readonly id: string;
  readonly parameters: { readonly [Name in keyof P]: ParameterValue<P[Name]> };
  readonly body: B;
  /** The header `If-None-Match` (RFC 9110 section 13.1.2). Only for conditional actions. */
  readonly ifNoneMatch: string | undefined;
  readonly slicer: Slicer;
  /** Releases the database connection of the request before it waits for something else. */
  releaseConnection(): void;
  /** Returns a signal that aborts when the caller closes the connection. */
  disconnected(): AbortSignal;
  /** Returns the `type` of an error in a response. */
  errorType(error: ServiceError): string;
  /**
   * Returns the links of a page: the URLs of this request and of the next page, which begins after
   * `marker`. Undefined means that this is the last page.
   */
  pageLinks(marker: string | undefined): PageLinks;
}

/** The links of a page of a list. */
export interface PageLinks {
  readonly self: string;
  readonly next?: string;
}

/** A group of operations in the OpenAPI document. */
export interface ActionGroup {
  readonly name: string;
  readonly description: string;
}

interface ActionBase<B, P extends Parameters> {
  /** The path in OpenAPI form. `{id}` is the id of a resource of `type`. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT';
  /** The right that callers need. Absent if every valid token is enough. */
  readonly right?: string;
  /** The id of the operation in the OpenAPI document. */
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  /** The type of the action's resources. */
  readonly type: ResourceType;
  /** The action's group in the OpenAPI document. The default is that of the type. */
  readonly group?: ActionGroup;
  /** Whether it may take long, so that only a few such requests run at a time. */
  readonly isLong?: boolean;
  /** The errors in addition to those of the path, the body and every request. */
  readonly errors?: readonly ErrorCode[];
  /** Absent if the action reads no body. */
  readonly body?: ActionBody<B>;
  /** The query parameters. If absent, the query is ignored. */
  readonly parameters?: P;
}

/**
 * An operation for callers other than those on collections. Its route and its OpenAPI path are
 * derived from this definition.
 */
export type Action<
  B = unknown,
  P extends Parameters = Parameters,
  R extends object = object,
> = ActionBase<B, P> &
  (
    | {
        readonly response: ActionResponse<R & { readonly etag: string }>;
        /**
         * The response has its member `etag` as a header. `run` returns undefined if the caller has
         * the present state: the response is 304.
         */
        readonly isConditional: true;
        run(request: ActionRequest<B, P>): Promise<(R & { readonly etag: string }) | undefined>;
      }
    | {
        readonly response: ActionResponse<R>;
        readonly lines?: ActionLines<B, P>;
        run(request: ActionRequest<B, P>): Promise<R>;
      }
    | { readonly file: ActionFiles; run(request: ActionRequest<B, P>): Promise<ActionFile> }
  );

/** Returns an action unchanged, and infers the parameters and the result of its `run`. */
export function defineAction<B, const P extends Parameters, R extends object>(
  definition: Action<B, P, R>,
): Action {
  return definition; // `run` gets what the action's own kinds have parsed
}

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

/**
 * Parses query parameters. Throws `bad_request` for a parameter that is unknown, repeated, absent
 * or invalid.
 */
export function readActionParameters(
  definitions: Parameters,
  given: readonly Parameter[],
): Readonly<Record<string, unknown>> {
  const names = Object.keys(definitions);
  const stray = given.find(([name]) => !names.includes(name));
  if (stray !== undefined)
    throw new ServiceError(
      'bad_request',
      `Unknown parameter '${shorten(stray[0])}'. Use: ${names.join(', ')}`,
    );
  return Object.fromEntries(
    Object.entries(definitions).map(([name, kind]) => {
      const values = given.filter(([each]) => each === name).map(([, value]) => value);
      if (values.length > 1) throw new ServiceError('bad_request', `${name} is given twice`);
      if (values.length === 0 && kind.isOptional === true) return [name, undefined];
      const parsed = kind.parse(values[0]);
      if ('problem' in parsed) throw new ServiceError('bad_request', `${name} ${parsed.problem}`);
      return [name, parsed.value];
    }),
  );
}
