"""Two weak learners and boosted feature vectors (Treviño Gavito, Klabjan, Utke): 2WL, 2WL2O, BFV+DNN."""
