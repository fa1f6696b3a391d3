/** The id of a resource in examples of requests, responses and errors. */
export const EXAMPLE_ID = 'b5b0e1b6-0a5e-4f0c-9d3f-6a1c2f7e8d94';
