import type { JsonSchema } from '../../domain/model/field.ts';

/**
 * The parts of an OpenAPI 3.1 document that this service uses, as named in section 4.8 of the
 * specification.
 */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<'title' | 'version' | 'description', string>> & {
    readonly contact: { readonly name: string };
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly {
    readonly name: string;
    /** The title of the tag for people, which documentation tools read. */
    readonly 'x-displayName': string;
    readonly description: string;
    readonly externalDocs?: { readonly description: string; readonly url: string };
  }[];
  readonly paths: Paths;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly parameters: Readonly<Record<string, ParameterObject>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
}

export type OrReference<T> = T | { readonly $ref: string };

/** Paths by their templates, such as `/v2/tlds/{id}`. */
export type Paths = Readonly<Record<string, PathItem>>;

export type PathItem = { readonly parameters?: readonly OrReference<ParameterObject>[] } & {
  readonly [method in 'post' | 'get' | 'put' | 'patch' | 'delete']?: OperationObject;
};

export interface OperationObject {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly OrReference<ParameterObject>[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, OrReference<ResponseObject>>>;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

export interface HeaderObject {
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example: unknown;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, OrReference<HeaderObject>>>;
  readonly content?: Content;
}

/** Bodies by their media types. */
export type Content = Readonly<
  Record<string, { readonly schema: JsonSchema; readonly examples?: Examples }>
>;

export type Examples = Readonly<
  Record<string, { readonly summary: string; readonly value: unknown }>
>;
