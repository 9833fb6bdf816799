// Style sheets are bundled, and say nothing to the code.
declare module "*.css";
