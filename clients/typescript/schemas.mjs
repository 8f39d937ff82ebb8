/* @ts-self-types="./schemas.d.mts" */
// Types only: a module that index.d.mts can name.
export {};
