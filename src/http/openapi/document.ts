import type { JsonSchema } from '../../core/field.ts';

/** The parts of an OpenAPI 3.1 document (section 4.8 of the specification) that others read. */
export interface ApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Paths;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly parameters: Readonly<Record<string, ParameterObject>>;
    readonly headers: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
  readonly externalDocs: object;
}

export interface Reference {
  readonly $ref: string;
}

export type OrReference<T> = T | Reference;

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
  readonly security: readonly object[];
  readonly parameters?: readonly OrReference<ParameterObject>[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Responses;
}

export type Responses = Readonly<Record<number, OrReference<ResponseObject>>>;

export interface ParameterObject {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Content;
}

/** Bodies by their media types. */
export type Content = Readonly<
  Record<string, { readonly schema: JsonSchema; readonly examples?: Examples }>
>;

export type Examples = Readonly<
  Record<string, { readonly summary: string; readonly value: unknown }>
>;
