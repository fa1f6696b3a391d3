/** The fields and types of resources, as the service describes them in the session. */
export type { FieldDefinition, ResourceDefinition } from '../domain/resources/describe-resource.ts';
