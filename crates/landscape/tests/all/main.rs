mod hessian;
mod pytorch;
